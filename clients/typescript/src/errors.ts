/** Whatever this client throws on purpose. */
export class TickyardError extends Error {
  override name = this.constructor.name;
}

export interface Refusal {
  code: string;
  message: string;
  status: number;
  requestId: string | null;
  retryAfterS: number | null;
}

/** The service answered with a failure. */
export class ServiceError extends TickyardError {
  /** The service's own word for it, such as `no_liquidity`. */
  readonly code: string;
  readonly status: number;
  /** Names this call in the service's logs. */
  readonly requestId: string | null;
  readonly retryAfterS: number | null;

  constructor(refusal: Refusal) {
    super(refusal.message);
    this.code = refusal.code;
    this.status = refusal.status;
    this.requestId = refusal.requestId;
    this.retryAfterS = refusal.retryAfterS;
  }
}

/** 400: an argument is wrong; the message names it. */
export class BadRequest extends ServiceError {}
/** 404: there is no such asset, alert or epoch. */
export class NotFound extends ServiceError {}
/** 422: no pool can fill the swap. */
export class NoLiquidity extends ServiceError {}
/** 429: wait `retryAfterS` seconds. */
export class TooManyRequests extends ServiceError {}
/** 402: the route costs money, or the payment was refused: the message says why. */
export class PaymentRequired extends ServiceError {}
/** 502 and 503: a source of the service did not answer; try later. */
export class UpstreamError extends ServiceError {}
/** 500: a bug of the service; `requestId` names the call. */
export class InternalError extends ServiceError {}
/** Nobody answered, or not a service of this kind. */
export class Unreachable extends TickyardError {}
/** The call would cost more than may still be spent; nothing was signed. */
export class SpendingLimit extends TickyardError {}
/** A received webhook is not genuine. */
export class WebhookRefused extends TickyardError {}

const BY_STATUS: Record<number, new (refusal: Refusal) => ServiceError> = {
  400: BadRequest,
  402: PaymentRequired,
  404: NotFound,
  422: NoLiquidity,
  429: TooManyRequests,
  500: InternalError,
  502: UpstreamError,
  503: UpstreamError,
};

/** The error for an answer. Statuses without one of their own are a wrong request or a broken service. */
export function errorOf(refusal: Refusal): ServiceError {
  const kind = BY_STATUS[refusal.status] ?? (refusal.status < 500 ? BadRequest : InternalError);
  return new kind(refusal);
}
