// A day in a cell: colour, slope and words say the same.
const SVG = 'http://www.w3.org/2000/svg';

export function sparkline(of: number[], label: string): SVGElement {
  const picture = document.createElementNS(SVG, 'svg');
  const way = of.length < 2 ? 0 : Math.sign(of.at(-1)! - of[0]!);
  picture.setAttribute('class', `spark ${way > 0 ? 'up' : way < 0 ? 'down' : 'flat'}`);
  picture.setAttribute('viewBox', '0 0 100 28');
  picture.setAttribute('preserveAspectRatio', 'none');
  picture.setAttribute('role', 'img');
  picture.setAttribute('aria-label', `${label}: ${of.length < 2 ? 'no history yet' : way > 0 ? 'rising' : way < 0 ? 'falling' : 'level'}`);
  if (of.length < 2) return picture;
  const low = Math.min(...of);
  const span = Math.max(...of) - low || 1;
  const path = document.createElementNS(SVG, 'polyline');
  path.setAttribute('points', of.map((value, index) => `${((index / (of.length - 1)) * 100).toFixed(1)},${(26 - ((value - low) / span) * 24).toFixed(1)}`).join(' '));
  picture.append(path);
  return picture;
}
