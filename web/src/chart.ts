// Candles on a canvas; loaded with the first chart.
import {
  CandlestickSeries,
  LineSeries,
  createChart,
  createSeriesMarkers,
  type IChartApi,
  type ISeriesApi,
  type ISeriesPrimitive,
  LineStyle,
  type Time,
  type UTCTimestamp,
} from 'lightweight-charts';
import type { Candle, CorporateAction } from 'tickyard';
import { inPlain } from './figures';

export const SECONDS = { '5m': 300, '15m': 900, '1h': 3600, '4h': 14_400, '1d': 86_400 } as const;
export type Interval = keyof typeof SECONDS;

export interface Drawing {
  candles: Candle[];
  interval: Interval;
  equity: number | null;
  pool: number | null;
  actions: CorporateAction[];
}

export interface Chart {
  draw(drawing: Drawing): void;
  priceAt(y: number): number | null;
  yOf(price: number): number | null;
  onMove(listener: () => void): void;
  destroy(): void;
}

const GAP_MAX = 3000;

export function mount(element: HTMLElement): Chart {
  const look = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const chart: IChartApi = createChart(element, { autoSize: true, layout: { attributionLogo: false }, rightPriceScale: { borderVisible: false }, timeScale: { borderVisible: false, timeVisible: true } });
  const series = chart.addSeries(CandlestickSeries, { borderVisible: false, priceLineVisible: false });
  // Five minutes hold one sample: a line says more than candles without a body.
  const samples = chart.addSeries(LineSeries, { lineWidth: 2, priceLineVisible: false, visible: false });
  const marks = createSeriesMarkers(series, []);
  const band = new Band(series);
  series.attachPrimitive(band);
  let line: ReturnType<typeof series.createPriceLine> | null = null;
  let first = '';
  const paint = () => {
    chart.applyOptions({
      layout: { background: { color: look('card') }, textColor: look('dim'), fontFamily: 'system-ui, sans-serif' },
      grid: { vertLines: { color: look('faint') }, horzLines: { color: look('faint') } },
      crosshair: { vertLine: { color: look('dim') }, horzLine: { color: look('dim') } },
    });
    const [up, down] = [look('up'), look('down')];
    // Rising candles are hollow: the colour does not tell it alone.
    series.applyOptions({ upColor: 'transparent', wickUpColor: up, borderUpColor: up, borderVisible: true, downColor: down, wickDownColor: down, borderDownColor: down });
    samples.applyOptions({ color: look('link') });
    band.color = look('band');
  };
  paint();
  const dark = matchMedia('(prefers-color-scheme: dark)');
  dark.addEventListener('change', paint);
  const movers = new Set<() => void>();
  const moved = () => movers.forEach((tell) => tell());
  chart.timeScale().subscribeVisibleLogicalRangeChange(moved);
  chart.subscribeCrosshairMove(moved);

  return {
    draw({ candles, interval, equity, pool, actions }) {
      const filled = withGaps(candles, SECONDS[interval]);
      series.setData(filled);
      samples.setData(filled.map((each) => ('close' in each ? { time: each.time, value: each.close } : each)));
      samples.applyOptions({ visible: interval === '5m' });
      // Kept for the scale, the marks and the lines, even when it is not what one sees.
      if (interval === '5m') series.applyOptions({ upColor: 'transparent', downColor: 'transparent', wickUpColor: 'transparent', wickDownColor: 'transparent', borderUpColor: 'transparent', borderDownColor: 'transparent' });
      else paint();
      const low = Math.min(...candles.map((candle) => candle.low));
      const places = low >= 1 ? 2 : 5;
      series.applyOptions({ priceFormat: { type: 'price', precision: places, minMove: 10 ** -places } });
      if (line) series.removePriceLine(line);
      line = equity === null ? null : series.createPriceLine({ price: equity, color: look('link'), lineStyle: LineStyle.Dashed, lineWidth: 1, title: 'equity', axisLabelVisible: true });
      band.set(equity, pool);
      const [from, to] = [candles[0], candles.at(-1)].map((candle) => (candle ? Date.parse(candle.t) / 1000 : 0));
      marks.setMarkers(
        actions
          .map((action) => ({ action, at: Date.parse(action.processDate ?? action.firstSeenAt) / 1000 }))
          .filter(({ at }) => at >= from! && at <= to! + SECONDS[interval])
          .sort((a, b) => a.at - b.at)
          .map(({ action, at }) => ({ time: (at - (at % SECONDS[interval])) as UTCTimestamp, position: 'aboveBar' as const, shape: 'square' as const, color: look('link'), text: inPlain(action.type) })),
      );
      const key = `${interval} ${candles[0]?.t}`;
      if (key !== first) chart.timeScale().fitContent();
      first = key;
      requestAnimationFrame(moved);
    },
    priceAt: (y) => series.coordinateToPrice(y),
    yOf: (price) => series.priceToCoordinate(price),
    onMove: (listener) => void movers.add(listener),
    destroy() {
      dark.removeEventListener('change', paint);
      movers.clear();
      chart.remove();
    },
  };
}

/** Buckets without a sample stay empty places: a gap is a gap. */
function withGaps(candles: Candle[], seconds: number) {
  const filled: ({ time: UTCTimestamp } | { time: UTCTimestamp; open: number; high: number; low: number; close: number })[] = [];
  let expected: number | null = null;
  for (const { t, open, high, low, close } of candles) {
    const time = Date.parse(t) / 1000;
    for (; expected !== null && expected < time && filled.length < GAP_MAX; expected += seconds) filled.push({ time: expected as UTCTimestamp });
    filled.push({ time: time as UTCTimestamp, open, high, low, close });
    expected = time + seconds;
  }
  return filled;
}

/** The premium: what lies between the equity quote and the pool's price. */
class Band implements ISeriesPrimitive<Time> {
  color = '';
  #prices: [number, number] | null = null;
  #redraw: (() => void) | null = null;

  constructor(readonly series: ISeriesApi<'Candlestick'>) {}

  set(one: number | null, other: number | null): void {
    this.#prices = one === null || other === null ? null : [one, other];
    this.#redraw?.();
  }

  attached({ requestUpdate }: { requestUpdate: () => void }): void {
    this.#redraw = requestUpdate;
  }

  paneViews() {
    const prices = this.#prices;
    const { series, color } = this;
    return [
      {
        zOrder: () => 'bottom' as const,
        renderer: () => ({
          draw(target: { useMediaCoordinateSpace(draw: (space: { context: CanvasRenderingContext2D; mediaSize: { width: number } }) => void): void }) {
            const [one, other] = (prices ?? []).map((price) => series.priceToCoordinate(price));
            if (one == null || other == null) return;
            target.useMediaCoordinateSpace(({ context, mediaSize }) => {
              context.fillStyle = color;
              context.fillRect(0, Math.min(one, other), mediaSize.width, Math.abs(one - other));
            });
          },
        }),
      },
    ];
  }
}
