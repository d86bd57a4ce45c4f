import type { Explanation } from './explain-delivery.ts';

/** The facts of gatehouse.v1.OrderFact that belong to `webhooks`. */
export type WebhookFact =
  | 'NOTHING'
  | 'WEBHOOK_SENT'
  | 'WEBHOOK_ACCEPTED'
  | 'WEBHOOK_SECRET'
  | 'WEBHOOK_SECRET_KEY'
  | 'WEBHOOK_ENDPOINT_RESUMED'
  | 'WEBHOOKS_PROCESS'
  | 'WEBHOOK_REDELIVERY';

/** Who holds a fact, as gatehouse.v1.OrderFactHolder defines it. */
export type WebhookHolder = 'NOBODY' | 'WEBHOOKS_PROCESS' | 'MERCHANT' | 'OPERATOR';

/** The next step, as gatehouse.v1.OrderNextStep defines it. */
export type WebhookNextStep =
  | 'NONE'
  | 'WEBHOOK_SENT'
  | 'SECRET_CREATED'
  | 'KEY_RESTORED'
  | 'ENDPOINT_RESUMED'
  | 'PROCESS_STARTED'
  | 'WEBHOOK_REDELIVERED';

/** The explanation of an order by its deliveries. */
export interface DeliveriesExplanation {
  readonly waitingFor: WebhookFact;
  readonly heldBy: WebhookHolder;
  readonly next: WebhookNextStep;
  /** Undefined when it happens at once, when a person decides the time, and when nothing happens. */
  readonly nextAt: Date | undefined;
  /** When the wait began: at the creation of the delivery, its abandonment or the pause. Undefined when nothing waits. */
  readonly since: Date | undefined;
  /** "whd_…"; '' when nothing waits. */
  readonly deliveryId: string;
}

/** The explanation of an order without waiting deliveries. */
export const noDeliveryWaits: DeliveriesExplanation = {
  waitingFor: 'NOTHING',
  heldBy: 'NOBODY',
  next: 'NONE',
  nextAt: undefined,
  since: undefined,
  deliveryId: '',
};

/** The explanation of an order by one delivery and its explanation. */
export function explainForOrder(
  delivery: { readonly id: string; readonly createdAt: Date },
  explanation: Explanation,
): DeliveriesExplanation {
  const { cause, nextSteps, at, nextAttemptAt, explainedAt, lastAttempt } = explanation;
  // Nothing more happens to a delivery of a deleted webhook endpoint, so the order does not wait for it.
  if (nextSteps.includes('NONE')) return noDeliveryWaits;
  const isLater = nextAttemptAt !== undefined && nextAttemptAt > explainedAt;
  const about = { deliveryId: delivery.id, since: delivery.createdAt, nextAt: undefined };
  const sent = {
    ...about,
    next: 'WEBHOOK_SENT',
    nextAt: isLater ? nextAttemptAt : undefined,
  } as const;
  switch (cause) {
    case 'DELIVERED':
    case 'WEBHOOK_ENDPOINT_DELETED':
      return noDeliveryWaits;
    case 'ATTEMPTS_EXHAUSTED':
    case 'SCHEDULE_ENDED':
      return {
        ...about,
        waitingFor: 'WEBHOOK_REDELIVERY',
        heldBy: 'MERCHANT',
        next: 'WEBHOOK_REDELIVERED',
        since: at,
      };
    case 'ENDPOINT_PAUSED':
    case 'ENDPOINT_GONE':
      return {
        ...about,
        waitingFor: 'WEBHOOK_ENDPOINT_RESUMED',
        heldBy: 'MERCHANT',
        next: 'ENDPOINT_RESUMED',
        since: at,
      };
    case 'SIGNING_SECRET_NOT_SHOWN':
      return { ...about, waitingFor: 'WEBHOOK_SECRET', heldBy: 'MERCHANT', next: 'SECRET_CREATED' };
    case 'SIGNING_SECRET_UNUSABLE':
      return { ...about, waitingFor: 'WEBHOOK_SECRET_KEY', heldBy: 'OPERATOR', next: 'KEY_RESTORED' };
    case 'NO_SENDER':
      return { ...about, waitingFor: 'WEBHOOKS_PROCESS', heldBy: 'OPERATOR', next: 'PROCESS_STARTED' };
    case 'CIRCUIT_OPEN':
      return { ...sent, waitingFor: 'WEBHOOK_ACCEPTED', heldBy: 'MERCHANT' };
    case 'NOT_DUE':
      return lastAttempt === undefined
        ? { ...sent, waitingFor: 'WEBHOOK_SENT', heldBy: 'WEBHOOKS_PROCESS' }
        : { ...sent, waitingFor: 'WEBHOOK_ACCEPTED', heldBy: 'MERCHANT' };
    case 'EARLIER_EVENT_PENDING':
    case 'OTHERS_FIRST':
    case 'SENDING':
      return { ...sent, waitingFor: 'WEBHOOK_SENT', heldBy: 'WEBHOOKS_PROCESS' };
  }
}
