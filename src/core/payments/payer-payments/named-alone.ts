import { ConnectError } from '@connectrpc/connect';
import { LRUCache } from 'lru-cache';
import { createFairCalls } from '../../../platform/fair-calls.ts';
import { reasonOf } from '../../../platform/rpc/rpc-error.ts';
import type { Database } from '../../database/database.ts';
import type { MerchantId, Order } from '../../domain/order.ts';
import { findNamedOrder } from './find-named-order.sql.ts';
import { atMost } from '../../../platform/at-most.ts';

/**
 * Whether the number of an order, typed by a payer, names that order and no other. `only`: the merchant of the account that is paid; null
 * for an account of several merchants. Only for display: the answer may be a minute old, and is false when too many such searches wait.
 */
export type IsNamedAlone = (
  order: Pick<Order, 'id' | 'merchantId' | 'environment' | 'orderNumber'>,
  only: MerchantId | null,
) => Promise<boolean>;

const maxAgeMs = 60_000;
const maxAnswers = 20_000;

/**
 * Searches the orders of all merchants, which takes longer with each merchant, while anybody who has a link may load its page. So only two
 * searches run at a time, and a merchant's own ones take turns. A page that would wait for longer than `maxWaitMs` does without the answer.
 */
export function createIsNamedAlone(database: Pick<Database, 'fork'>, maxWaitMs = 300): IsNamedAlone {
  const fairly = createFairCalls({ maxRunning: 2, maxWaiting: 200 });
  const search = async (...[order, only]: Parameters<IsNamedAlone>): Promise<boolean | undefined> => {
    const { id, merchantId, environment, orderNumber } = order;
    try {
      return await fairly({ owner: merchantId, maxWaitMs }, { aborted: false }, async () => {
        const named = await findNamedOrder(database.fork(), environment, orderNumber, only);
        return named?.id === id;
      });
    } catch (error) {
      if (error instanceof ConnectError && reasonOf(error) === 'OVERLOADED') return undefined;
      throw error;
    }
  };
  const answers = new LRUCache<string, boolean, Parameters<IsNamedAlone>>({
    ...atMost(maxAnswers),
    ttl: maxAgeMs,
    fetchMethod: (_key, _stale, { context }) => search(...context),
  });
  return async (order, only) => {
    const context: Parameters<IsNamedAlone> = [order, only];
    return (await answers.fetch(`${order.id} ${only ?? ''}`, { context })) ?? false;
  };
}
