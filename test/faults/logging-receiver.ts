import { setTimeout as delay } from 'node:timers/promises';
import { startReceiver } from '../integration/webhooks/receivers.ts';
import type { Behaviour, ReceivedWebhook } from '../integration/webhooks/receivers.ts';

/** A receiver's reaction to one webhook. */
export type Whim = 'take' | 'take slowly' | 'refuse' | 'reset' | 'hold';

/** A webhook that arrived, and its answer. */
export interface Exchange extends ReceivedWebhook {
  readonly eventId: string;
  /** Its position among all arrivals and answers of this receiver. */
  readonly arrival: number;
  /** Undefined when there was no answer, or not yet. */
  readonly answer: { readonly status: number; readonly at: number } | undefined;
}

/** A merchant's server that keeps everything that arrives, and answers as the test requests. */
export interface LoggingReceiver {
  readonly origin: string;
  readonly exchanges: readonly Exchange[];
  /** Resolves when the n-th webhook from now has arrived, before it is answered. */
  readonly arrival: (n?: number) => Promise<Exchange>;
  /** Its behaviour from now on. */
  readonly behave: (whimOf: (webhook: Exchange, earlier: number) => Whim) => void;
  /** Releases the webhooks that it holds. Their senders may have exited. */
  readonly release: () => void;
  readonly close: () => Promise<void>;
}

const slowMs = 120;

/** Starts a receiver that accepts everything. `whimOf` gets the number of earlier arrivals of the same event. */
export async function startLoggingReceiver(): Promise<LoggingReceiver> {
  let whimOf = (_webhook: Exchange, _earlier: number): Whim => 'take';
  let moment = 0;
  const exchanges: Exchange[] = [];
  const timesTold = new Map<string, number>();
  const awaited = new Set<{ left: number; found: (exchange: Exchange) => void }>();
  const held: (() => void)[] = [];

  const behaviour: Behaviour = ({ webhook, response, socket }) => {
    const eventId = String(webhook.headers['webhook-id']);
    const exchange: { -readonly [Key in keyof Exchange]: Exchange[Key] } = {
      ...webhook,
      eventId,
      arrival: (moment += 1),
      answer: undefined,
    };
    exchanges.push(exchange);
    const earlier = timesTold.get(eventId) ?? 0;
    timesTold.set(eventId, earlier + 1);
    for (const each of awaited) {
      each.left -= 1;
      if (each.left > 0) continue;
      awaited.delete(each);
      each.found(exchange);
    }
    const answer = (status: number): void => {
      exchange.answer = { status, at: (moment += 1) };
      response.writeHead(status).end();
    };
    const whim = whimOf(exchange, earlier);
    if (whim === 'take') answer(200);
    if (whim === 'take slowly') void delay(slowMs).then(() => answer(204));
    if (whim === 'refuse') answer(500);
    if (whim === 'reset') socket.resetAndDestroy();
    if (whim === 'hold') held.push(() => answer(200));
  };
  const receiver = await startReceiver(behaviour);
  return {
    origin: receiver.origin,
    exchanges,
    arrival: (n = 1) => new Promise((found) => awaited.add({ left: n, found })),
    behave: (next) => {
      whimOf = next;
    },
    release: () => held.splice(0).forEach((each) => each()),
    close: receiver.close,
  };
}
