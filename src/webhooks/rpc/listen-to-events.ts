import type { MessageInitShape } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import type { Client } from '@connectrpc/connect';
import { Environment } from '../../gen/gatehouse/v1/order_pb.js';
import type { OrderEvent } from '../../gen/gatehouse/v1/order_pb.js';
import type { OrderService } from '../../gen/gatehouse/v1/order_service_pb.js';
import type { ListenToSandboxEventsResponseSchema } from '../../gen/gatehouse/v1/webhook_service_pb.js';
import { pause } from '../../platform/pause.ts';
import { createWakeSignal } from '../../platform/wake-signal.ts';
import { createFairCalls, takeTurn } from '../../platform/fair-calls.ts';
import { rpcError } from '../../contract/error-reason.ts';
import { eventBody, webhookTypes } from '../intake/event-body.ts';
import type { SubscribedType } from '../domain/webhook-endpoint.ts';
import { SecretUnusableError } from '../secrets/secret-cipher.ts';
import { signedHeaders } from '../../contract/webhook-signature.ts';
import type { SigningSecrets } from '../secrets/signing-secrets.ts';
import { explainCoreFailure } from './require-merchant.ts';

export interface ListenParts {
  readonly orders: Client<typeof OrderService>;
  readonly secrets: Pick<SigningSecrets, 'live' | 'unseen'>;
  readonly now: () => Date;
  /** The interval of keep-alive messages while there are no events. */
  readonly keepAliveMs: number;
}

type ForwardedEvent = MessageInitShape<typeof ListenToSandboxEventsResponseSchema>;

const reconnectMs = 500;

/**
 * For each listener, core reads its database twice a second, and up to 100 times a second while orders change. It serves the listeners in
 * turn. The limit keeps this load small. The listeners of a single merchant are at most half of them.
 */
const maxListeners = 200;

export interface ListeningParts extends ListenParts {
  /** Aborts when the process begins to stop. Streams end then, so that their callers reconnect to another process. */
  readonly draining: AbortSignal;
}

/** A merchant's sandbox events until the signal aborts. Errors: OVERLOADED, SERVER_DRAINING. */
export type ListenToSandbox = (merchantId: string, signal: AbortSignal) => AsyncIterable<ForwardedEvent>;

export function createEventListening(parts: ListeningParts): ListenToSandbox {
  const { draining } = parts;
  const inTurn = createFairCalls({ maxRunning: maxListeners, maxWaiting: 0 });
  return async function* listenToSandbox(merchantId, signal) {
    const leave = await takeTurn(inTurn, { owner: merchantId }, signal).catch(() => {
      throw rpcError(
        'OVERLOADED',
        'too many clients listen to this merchant, or to all merchants, on this server; listen on another, or try again later',
        { retryAfterMs: 10_000 },
      );
    });
    try {
      yield* listenToEvents(parts, merchantId, AbortSignal.any([signal, draining]));
    } finally {
      leave();
    }
    if (draining.aborted) throw rpcError('SERVER_DRAINING', 'this server is stopping; listen on another');
  };
}

/**
 * A merchant's sandbox events from now on, as webhooks, until `stop` aborts. By then core's stream has ended too. When a
 * core exits, the stream continues on another core after the last event.
 */
async function* listenToEvents(
  { orders, secrets, now, keepAliveMs }: ListenParts,
  merchantId: string,
  stop: AbortSignal,
): AsyncIterable<ForwardedEvent> {
  const leave = new AbortController();
  const events = followEvents(orders, merchantId, AbortSignal.any([stop, leave.signal]));
  const arrived = createWakeSignal();
  const ask = () => {
    const asked = { answer: events.next(), isOver: false };
    const note = (): void => {
      asked.isOver = true;
      arrived.ring();
    };
    // One handler for each event: with one for each keep-alive, handlers would pile up for days. A failure is handled below, after the
    // earlier events.
    asked.answer.then(note, note);
    return asked;
  };
  let next = ask();
  try {
    while (!stop.aborted) {
      if (!next.isOver) await arrived.wait(keepAliveMs, stop);
      if (!next.isOver) {
        yield {};
        continue;
      }
      const received = await next.answer;
      if (received.done === true) return;
      next = ask();
      const event = received.value;
      // As for a webhook endpoint that receives every type.
      const eventType = event === undefined ? undefined : webhookTypes(event).at(-1);
      if (event === undefined) yield {};
      else if (eventType !== undefined) yield await webhookOf(event, eventType, merchantId, secrets, now());
    }
  } finally {
    leave.abort();
    await next.answer.catch(() => undefined);
  }
}

/** Events as core commits them. The first item is undefined: it confirms that core's stream is open. */
async function* followEvents(
  orders: Client<typeof OrderService>,
  merchantId: string,
  stop: AbortSignal,
): AsyncGenerator<OrderEvent | undefined, void> {
  let cursor = '';
  const isOver = (): boolean => stop.aborted;
  while (!isOver()) {
    try {
      const request = { merchantId, environment: Environment.SANDBOX, onlyNew: true, afterCursor: cursor };
      for await (const message of orders.watchOrderEvents(request, { signal: stop })) {
        const isFirst = cursor === '';
        cursor = message.cursor;
        if (message.event !== undefined) yield message.event;
        else if (isFirst) yield undefined;
      }
    } catch (error) {
      if (isOver()) return;
      if (!(error instanceof ConnectError) || error.code !== Code.Unavailable)
        throw explainCoreFailure(error);
    }
    await pause(reconnectMs, stop);
  }
}

async function webhookOf(
  event: OrderEvent,
  eventType: SubscribedType,
  merchantId: string,
  secrets: Pick<SigningSecrets, 'live' | 'unseen'>,
  at: Date,
): Promise<ForwardedEvent> {
  const body = eventBody(event, eventType);
  const owner = { merchantId, environment: 'SANDBOX', endpointId: '' } as const;
  const live = await secrets.live(owner).catch((error: unknown) => {
    if (error instanceof SecretUnusableError) throw rpcError('INTERNAL', error.message, { cause: error });
    throw error;
  });
  return {
    eventId: event.eventId,
    eventType,
    orderNumber: event.order?.orderNumber ?? '',
    body,
    headers: signedHeaders({ eventId: event.eventId, body, at, secrets: live ?? secrets.unseen() }),
  };
}
