// How a trade can end before its end.
import type { Hex } from './calldata.js';
import { TickyardError } from './errors.js';
import type { TransactionReceipt } from './receipts.js';

/** A step, signed by a key of this machine. Sending it again can do nothing that sending it once would not. */
export interface SignedStep {
  nonce: number;
  hash: Hex;
  raw: Hex;
}

/** A step was mined and failed; the ones after it were not sent. */
export class StepFailed extends TickyardError {
  constructor(
    message: string,
    readonly receipt: TransactionReceipt,
  ) {
    super(message);
  }
}

/** Another transaction took the place of a step, or its owner changed it in the wallet; the steps after it were not sent. */
export class StepReplaced extends TickyardError {
  constructor(
    message: string,
    readonly receipt: TransactionReceipt,
  ) {
    super(message);
  }
}

/** Nobody knows whether a step was sent, or whether it is on the chain. Its nonce is taken: look at it before anything else is sent. */
export class SendUncertain extends TickyardError {
  constructor(
    message: string,
    readonly nonce: number,
    readonly hash: Hex | null,
    /** All that was signed on this machine: `send` goes on with it. A wallet that sends by itself keeps what it signs. */
    readonly sent: readonly SignedStep[] = [],
  ) {
    super(message);
  }
}

/** A step is mined and the next one was not sent, because the node could not be asked about it: `send` goes on with `sent`. */
export class StepsLeft extends TickyardError {
  constructor(
    message: string,
    readonly receipts: readonly TransactionReceipt[],
    readonly sent: readonly SignedStep[] = [],
  ) {
    super(message);
  }
}

/** The node does not know the block of a step that is mined, though it was waited for; the steps after it were not sent. */
export class NodeBehind extends StepsLeft {}
