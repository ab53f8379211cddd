// What is only convenient to remember. A browser that forbids storage, or has no room left, forgets it and works on.
type Place = 'localStorage' | 'sessionStorage';

export function remember(place: Place, name: string, text: string): void {
  try {
    window[place].setItem(name, text);
  } catch {
    // Forgotten.
  }
}

export function recall(place: Place, name: string): string | null {
  try {
    return window[place].getItem(name);
  } catch {
    return null;
  }
}
