// What is kept in the browser. One that forbids storage, or has no room left, forgets it: whoever cannot do without asks
// whether it was kept.
type Place = 'localStorage' | 'sessionStorage';

export function remember(place: Place, name: string, text: string): boolean {
  try {
    window[place].setItem(name, text);
    return true;
  } catch {
    return false;
  }
}

export function recall(place: Place, name: string): string | null {
  try {
    return window[place].getItem(name);
  } catch {
    return null;
  }
}
