export { Client, type ClientOptions, type Payer, type Reply, type Send } from './client.js';
export * from './errors.js';
export type * from './generated/answers.js';
export type * from './generated/operations.js';
export type { CallOptions, Route } from './route.js';
export type { StreamEvent, StreamOptions } from './stream.js';
export { verifyWebhook } from './webhook.js';
