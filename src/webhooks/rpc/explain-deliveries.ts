import type { Pool } from 'pg';
import type { OrderExplanation } from '../../gen/gatehouse/v1/order_explanation_pb.js';
import { secretOwnerOf } from '../domain/delivery.ts';
import type { LaneKey } from '../domain/delivery.ts';
import { explainDelivery } from '../domain/explain-delivery.ts';
import type { Explanation } from '../domain/explain-delivery.ts';
import { explainForOrder } from '../domain/explain-order-deliveries.ts';
import { intakeReader, readCursor } from '../intake/reader-position.ts';
import type { SigningSecrets } from '../secrets/signing-secrets.ts';
import type { DeliveryReader, OrderKey, StoredDelivery } from './delivery-reader.ts';
import type { StoredEndpoint } from './endpoint-reader.ts';
import { noDeliveryMessage, orderExplanationMessage } from './order-explanation-message.ts';

export interface ExplanationParts {
  readonly pool: Pool;
  readonly deliveries: Pick<DeliveryReader, 'contextOf' | 'unfinishedOfOrder'>;
  /** Errors: ENDPOINT_NOT_FOUND. */
  readonly findEndpoint: (lane: LaneKey) => Promise<StoredEndpoint>;
  readonly secrets: Pick<SigningSecrets, 'problem'>;
  readonly now: () => Date;
}

export interface DeliveryExplanations {
  /** Why a delivery is in its state. Errors: ENDPOINT_NOT_FOUND. */
  readonly explainOne: (
    delivery: StoredDelivery,
  ) => Promise<{ readonly endpoint: StoredEndpoint; readonly explanation: Explanation }>;
  /** The explanation of an order by its deliveries. */
  readonly explainOrder: (key: OrderKey) => Promise<OrderExplanation>;
}

export function createDeliveryExplanations(parts: ExplanationParts): DeliveryExplanations {
  const { pool, deliveries, findEndpoint, secrets, now } = parts;
  const explainOne: DeliveryExplanations['explainOne'] = async (delivery) => {
    // One read after another, so that an explanation holds one connection.
    const endpoint = await findEndpoint(delivery);
    const context = await deliveries.contextOf(delivery);
    const problem = delivery.state === 'PENDING' ? await secrets.problem(secretOwnerOf(delivery)) : undefined;
    const facts = { now: now(), delivery, endpoint, secretProblem: problem, ...context };
    return { endpoint, explanation: explainDelivery(facts) };
  };
  return {
    explainOne,
    async explainOrder(key) {
      // The cursor is read first. So the next reading contains the deliveries of every event up to it.
      const cursor = await readCursor(pool, intakeReader);
      for (const delivery of await deliveries.unfinishedOfOrder(key)) {
        const explained = explainForOrder(delivery, (await explainOne(delivery)).explanation);
        if (explained.waitingFor !== 'NOTHING') return orderExplanationMessage(explained);
      }
      return noDeliveryMessage(cursor);
    },
  };
}
