import { Client, type ClientOptions } from './client.js';
import { SandboxControls } from './generated/sandbox.js';
import type { CallOptions, Route } from './route.js';

/** The hands on a sandbox world: clock, ticks, prices, money and faults. Outside a sandbox every call is NotFound. */
export class Sandbox extends SandboxControls {
  readonly #client: Client;

  constructor(baseUrl?: string, options?: ClientOptions) {
    super();
    // Living through a day takes longer than an ordinary call.
    this.#client = new Client(baseUrl, { timeoutMs: 120_000, ...options });
  }

  override call<T>(route: Route, values: object, options?: CallOptions): Promise<T> {
    return this.#client.call<T>(route, values, options);
  }
}

export type * from './generated/sandbox_answers.js';
