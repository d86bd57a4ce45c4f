/** A received payment or reversal request, whatever the answer was. */
export interface ReceivedRequest {
  readonly at: Date;
  readonly wallet: string;
  readonly kind: 'payment' | 'reversal';
  readonly correlationId: string | undefined;
  /** The payer's number as sent, or the reference of the payment to reverse; empty when absent. */
  readonly subject: string;
  /** "accepted", "completed", "hangs", or the error code. */
  readonly answer: string;
}

/** Records all requests, including repeats and refusals, because the ledger shows only their effects. */
export interface ReceivedRequests {
  readonly add: (request: ReceivedRequest) => void;
  /** Newest first. */
  readonly list: () => readonly ReceivedRequest[];
}

const maxKept = 10_000;

/** Keeps the newest ten thousand requests. */
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

/** A received request as the admin API shows it. */
export const receivedView = ({ at, correlationId, ...request }: ReceivedRequest): object => ({
  at: at.toISOString(),
  correlation_id: correlationId ?? null,
  ...request,
});
