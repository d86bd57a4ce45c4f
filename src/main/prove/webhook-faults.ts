import type { Exchange } from './webhook-receiver.ts';

/** An event that merchants must receive. `orderId` groups the events of an order, which are listed as they happened. */
export interface DueEvent {
  readonly eventId: string;
  readonly orderId: string;
}

/** A webhook at a receiver. `acceptedAt` is undefined when it was not accepted. */
export type ArrivedWebhook = Pick<Exchange, 'eventId' | 'body' | 'arrival' | 'acceptedAt'>;

/** The event that a fault concerns, and the fault. */
export interface WebhookFault {
  readonly eventId: string;
  readonly seen: string;
}

/** Events that no receiver accepted. */
export function findUndelivered(
  events: readonly DueEvent[],
  webhooks: readonly ArrivedWebhook[],
): WebhookFault[] {
  const accepted = new Set(
    webhooks.filter(({ acceptedAt }) => acceptedAt !== undefined).map(({ eventId }) => eventId),
  );
  return events
    .filter(({ eventId }) => !accepted.has(eventId))
    .map(({ eventId }) => ({ eventId, seen: `${eventId} was never accepted by its receiver` }));
}

/** Webhooks of events that did not happen. */
export function findInvented(
  events: readonly DueEvent[],
  webhooks: readonly ArrivedWebhook[],
): WebhookFault[] {
  const known = new Set(events.map(({ eventId }) => eventId));
  const invented = webhooks.filter(({ eventId }) => !known.has(eventId));
  return invented.map(({ eventId }) => ({ eventId, seen: `${eventId} was sent and never committed` }));
}

/** Events whose repeats differ, or whose body is of another event. */
export function findChanged(webhooks: readonly ArrivedWebhook[]): WebhookFault[] {
  return [...Map.groupBy(webhooks, ({ eventId }) => eventId)].flatMap(([eventId, all]) => {
    const [first] = all;
    const isSame = all.every(({ body }) => first?.body.equals(body));
    const namesItself = first?.body.toString().startsWith(`{"id":"${eventId}",`);
    return [
      ...(isSame ? [] : [{ eventId, seen: `${eventId} was sent with different bodies` }]),
      ...(namesItself ? [] : [{ eventId, seen: `${eventId} was sent with the body of another event` }]),
    ];
  });
}

/**
 * Events that arrived before the previous event of their order was accepted. A receiver may answer an earlier arrival last, if its sender has
 * exited and another process has sent the event again.
 */
export function findOutOfOrder(
  events: readonly DueEvent[],
  webhooks: readonly ArrivedWebhook[],
): WebhookFault[] {
  const byEvent = Map.groupBy(webhooks, ({ eventId }) => eventId);
  return [...Map.groupBy(events, ({ orderId }) => orderId).values()].flatMap((ofOrder) =>
    ofOrder.slice(1).flatMap(({ eventId }, index) => {
      const before = ofOrder[index]?.eventId ?? '';
      const acceptedAt = Math.min(
        ...(byEvent.get(before) ?? []).map((webhook) => webhook.acceptedAt ?? Infinity),
      );
      const arrivedAt = byEvent.get(eventId)?.[0]?.arrival ?? Infinity;
      return arrivedAt > acceptedAt || arrivedAt === Infinity
        ? []
        : [{ eventId, seen: `${eventId} arrived before ${before} had been accepted` }];
    }),
  );
}
