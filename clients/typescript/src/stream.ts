import { errorOf, Unreachable } from './errors.js';
import type { StreamData } from './generated/answers.js';
import { pause } from './pause.js';

/** One event of the stream: `event` says of which kind, `data` what the service sent. Newer services may have more
 * kinds: pass over those you do not know. `id`: of events that can be resumed. */
export type StreamEvent = { [Name in keyof StreamData]: { event: Name; data: StreamData[Name]; id?: string } }[keyof StreamData];

export interface StreamOptions {
  /** Only these; all when left out. */
  symbols?: string[];
  events?: string[];
  /** Continue after this event. */
  lastEventId?: string;
  /** Ends the stream. */
  signal?: AbortSignal;
  /** Told when the connection is there and when it is lost. */
  onState?: (state: 'open' | 'lost') => void;
  /** A connection that brings nothing whole for so long is lost; 45,000 unless said otherwise. The service sends a heartbeat every 15 s. */
  quietMs?: number;
  fetch?: typeof fetch;
}

const QUIET_MAX_MS = 45_000;
// Of a longer one a timer makes none at all.
const WAIT_MAX_MS = 600_000;
const FRAME_MAX_CHARS = 4 * 2 ** 20;

/** Follows the stream until the signal says otherwise; throws only when the service refuses it for good. */
export async function* follow(baseUrl: string, options: StreamOptions): AsyncGenerator<StreamEvent, void, undefined> {
  const { signal, onState, fetch: get = fetch } = options;
  const query = new URLSearchParams();
  if (options.symbols) query.set('symbols', options.symbols.join(','));
  if (options.events) query.set('events', options.events.join(','));
  let last = options.lastEventId;
  let failures = 0;
  let wait = 0;
  while (!signal?.aborted) {
    const quiet = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    // The service sends a heartbeat every 15 s: unless said otherwise, whoever is silent for three of them is gone.
    const heard = () => {
      clearTimeout(timer);
      timer = setTimeout(() => quiet.abort(), options.quietMs ?? QUIET_MAX_MS);
    };
    try {
      heard();
      const headers: Record<string, string> = { accept: 'text/event-stream' };
      if (last !== undefined) headers['last-event-id'] = last;
      const response = await get(`${baseUrl}/v1/stream${query.size ? `?${query}` : ''}`, {
        headers,
        cache: 'no-store',
        credentials: 'omit',
        signal: signal ? AbortSignal.any([signal, quiet.signal]) : quiet.signal,
      });
      if (response.status !== 200 || !response.body) {
        const { status } = response;
        await response.body?.cancel();
        if (status < 500 && status !== 429) {
          const message = `the service does not stream this (${status})`;
          throw errorOf({ status, code: 'unexpected_answer', message, requestId: response.headers.get('x-request-id'), retryAfterS: null });
        }
        wait = Math.max(wait, 1000 * Number(response.headers.get('retry-after')) || 0);
        throw new Unreachable(`the stream answered ${status}`);
      }
      // A gateway's page is none of its events.
      if (!/^text\/event-stream\b/i.test(response.headers.get('content-type') ?? '')) {
        await response.body.cancel();
        throw new Unreachable('the stream answered something else than expected');
      }
      onState?.('open');
      for await (const frame of frames(response.body, heard)) {
        if (frame.retry !== undefined) wait = frame.retry;
        let data: unknown;
        try {
          data = frame.data === undefined ? undefined : JSON.parse(frame.data);
        } catch {
          throw new Unreachable('the stream sent something else than expected');
        }
        // What came damaged is asked for once more.
        if (frame.id !== undefined) last = frame.id;
        if (frame.data === undefined) continue;
        // Only now: of frames that say nothing a stream may bring one after each connection.
        failures = 0;
        wait = frame.retry ?? 0;
        yield { event: frame.event, data, ...(frame.id !== undefined && { id: frame.id }) } as StreamEvent;
      }
    } catch (error) {
      if (signal?.aborted) return;
      if ((error as { status?: number }).status) throw error;
    } finally {
      clearTimeout(timer);
      quiet.abort();
    }
    onState?.('lost');
    const backoff = Math.min(250 * 2 ** failures++, 10_000) * (0.5 + Math.random());
    await pause(Math.min(Math.max(wait, backoff), WAIT_MAX_MS), signal).catch(() => {});
  }
}

interface Frame {
  event: string;
  data?: string;
  id?: string;
  retry?: number;
}

/** Server-sent events out of bytes; a frame that the connection cut off is none. */
async function* frames(body: ReadableStream<Uint8Array>, heard: () => void): AsyncGenerator<Frame> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      rest += decoder.decode(value, { stream: true });
      if (rest.length > FRAME_MAX_CHARS) throw new Unreachable('the stream sent an event that is too long');
      // A line may end in CR, LF or both; a CR at the very end may have its LF still to come.
      const held = rest.endsWith('\r') ? '\r' : '';
      const blocks = rest.slice(0, rest.length - held.length).replace(/\r\n?/g, '\n').split('\n\n');
      rest = blocks.pop()! + held;
      for (const block of blocks) {
        // Only what is whole: bytes that drip through a line that is as good as gone tell nobody anything.
        heard();
        yield frame(block);
      }
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

function frame(block: string): Frame {
  const found: Frame = { event: 'message' };
  const data: string[] = [];
  for (const line of block.split('\n')) {
    const [, name, value = ''] = /^([^:]*)(?:: ?([^]*))?$/.exec(line) ?? [];
    if (name === 'event') found.event = value;
    else if (name === 'data') data.push(value);
    else if (name === 'id' && !value.includes('\0')) found.id = value;
    else if (name === 'retry' && /^\d+$/.test(value)) found.retry = Number(value);
  }
  if (data.length) found.data = data.join('\n');
  return found;
}
