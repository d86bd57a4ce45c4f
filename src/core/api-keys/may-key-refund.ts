import type { PublicId } from '../../contract/public-id.ts';
import { isUsable } from '../domain/api-key-life-cycle.ts';
import type { Environment } from '../domain/order.ts';
import type { ApiKeyStore } from './api-key-store.ts';

/** Whether a key of the merchant authenticates in the environment now, and has the scope for refunds. It reads the database. */
export const createMayKeyRefund =
  (store: Pick<ApiKeyStore, 'find'>, now: () => Date) =>
  async (
    apiKeyId: PublicId<'key'>,
    merchantId: PublicId<'mer'>,
    environment: Environment,
  ): Promise<boolean> => {
    const key = await store.find(merchantId, apiKeyId);
    return key?.environment === environment && isUsable(key, now()) && key.scopes.includes('REFUNDS');
  };
