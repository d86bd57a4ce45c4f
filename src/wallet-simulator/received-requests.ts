/** A request to pay or to reverse, as it came in, whatever was answered. */
export interface ReceivedRequest {
  readonly at: Date;
  readonly wallet: string;
  readonly kind: 'payment' | 'reversal';
  readonly correlationId: string | undefined;
  /** The payer's number as sent, or the reference of the payment to reverse; empty when there was none. */
  readonly subject: string;
  /** "accepted", "completed", "hangs", or the code of the error. */
  readonly answer: string;
}

/** Counts what clients send, repetitions and refusals included: the ledger knows only what came of it. */
export interface ReceivedRequests {
  readonly add: (request: ReceivedRequest) => void;
  /** Newest first. */
  readonly list: () => readonly ReceivedRequest[];
}

const maxKept = 10_000;

/** Keeps the newest ten thousand. */
export function createReceivedRequests(): ReceivedRequests {
  const received: ReceivedRequest[] = [];
  return {
    add: (request) => {
      received.push(request);
      if (received.length > maxKept) received.shift();
    },
    list: () => received.toReversed(),
  };
}
