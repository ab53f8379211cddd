// A day in a cell: colour, slope and words say the same, and what was not sampled is a gap.
import { trend } from './figures';

const SVG = 'http://www.w3.org/2000/svg';
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** When something stood at how much. */
export type Point = [number, number];

/**
 * `closes`: of hours, each with its beginning. `change`: of the 24 hours until now, or null where no sample is a day old. `carried`: what
 * time it is as far as anybody knows, and an hour that has begun is known too.
 */
export function sparkline(closes: Point[], change: string | null, carried: number, symbol: string): SVGElement {
  const now = Math.max(carried, closes.at(-1)?.[0] ?? 0);
  const picture = document.createElementNS(SVG, 'svg');
  const points = closes.map(([at, close]): Point => [Math.min(at + HOUR_MS, now), close]).filter(([at]) => at > now - DAY_MS);
  const way = points.length ? trend(change) : 0;
  const isWhole = change !== null && points.length > 0;
  picture.setAttribute('class', `spark ${way > 0 ? 'up' : way < 0 ? 'down' : 'flat'}`);
  picture.setAttribute('viewBox', '0 0 100 28');
  picture.setAttribute('preserveAspectRatio', 'none');
  picture.setAttribute('role', 'img');
  const said = isWhole ? `one day: ${way > 0 ? 'rising' : way < 0 ? 'falling' : 'level'}` : points.length ? 'part of a day' : 'nothing of the last day';
  picture.setAttribute('aria-label', `${symbol}, ${said}`);
  // Where the figure beside it begins: an hour's close may be an hour later.
  if (isWhole) points.unshift([now - DAY_MS, points.at(-1)![1] / (1 + Number(change) / 100)]);
  const values = points.map(([, value]) => value);
  const low = Math.min(...values);
  const span = Math.max(...values) - low || 1;
  const place = ([at, value]: Point) => `${((1 - (now - at) / DAY_MS) * 100).toFixed(1)},${(26 - ((value - low) / span) * 24).toFixed(1)}`;
  for (const piece of unbroken(points)) {
    const line = document.createElementNS(SVG, 'polyline');
    // One alone is a dot.
    line.setAttribute('points', (piece.length > 1 ? piece : [piece[0]!, piece[0]!]).map(place).join(' '));
    picture.append(line);
  }
  return picture;
}

function unbroken(points: Point[]): Point[][] {
  const pieces: Point[][] = [];
  points.forEach((point, index) => {
    if (index && point[0] - points[index - 1]![0] <= HOUR_MS) pieces.at(-1)!.push(point);
    else pieces.push([point]);
  });
  return pieces;
}
