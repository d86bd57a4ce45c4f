import { LRUCache } from 'lru-cache';
import type { ConnectError } from '@connectrpc/connect';
import { rpcError } from '../../contract/error-reason.ts';
import { admitMerchant } from '../domain/merchant-life-cycle.ts';
import type { MerchantStanding } from '../domain/merchant-life-cycle.ts';
import type { Environment } from '../domain/order.ts';
import type { AgreedTerms } from '../domain/merchant-terms.ts';
import type { RefundPolicy } from '../domain/refund-limits.ts';
import type { PublicId } from '../../contract/public-id.ts';
import { atMost } from '../../platform/at-most.ts';

/** A merchant's contact for customers; '' for missing values. */
export interface MerchantContact {
  readonly phone: string;
  readonly email: string;
}

/** The facts about a merchant that every request needs. */
export interface MerchantTerms extends AgreedTerms, MerchantStanding, RefundPolicy {
  readonly name: string;
  readonly contact: MerchantContact;
  readonly sessionLifetimeMs: number;
  /**
   * Changes when ended orders of the merchant may have changed: after an erasure or a restore. Cached answers about them are valid only
   * while it stays the same.
   */
  readonly endedOrdersVersion: string;
}

/** The terms of a merchant, by its public id; undefined when there is no such merchant. */
export type FindMerchant = (merchantId: PublicId<'mer'>) => Promise<MerchantTerms | undefined>;

/** A suspension is effective everywhere within 5 seconds: this time, the facades' own 3 seconds, and the calls between. */
const maxAgeMs = 1_500;
const maxMerchants = 50_000;

/** Finds merchants, and caches them briefly, because every registration needs its merchant. */
export function createFindMerchant(read: FindMerchant): FindMerchant {
  // A missing merchant is not cached, because a new merchant must work at once.
  const cache = new LRUCache<PublicId<'mer'>, MerchantTerms>({
    ...atMost(maxMerchants),
    ttl: maxAgeMs,
    fetchMethod: (merchantId) => read(merchantId),
  });
  return async (merchantId) => cache.get(merchantId) ?? cache.fetch(merchantId);
}

/** The error if a merchant may not use an environment now. `metadata`: additional facts for the caller. */
export function refuseMerchant(
  terms: MerchantTerms,
  environment: Environment,
  metadata: Readonly<Record<string, string>> = {},
): ConnectError | undefined {
  const admitted = admitMerchant(terms, environment);
  return admitted.ok ? undefined : refusals[admitted.error](metadata);
}

/** The error of a refusal by `admitMerchant`. */
export const merchantRefusal = (refusal: keyof typeof refusals): ConnectError => refusals[refusal]({});

type Metadata = Readonly<Record<string, string>>;

const refusals = {
  suspended: (metadata: Metadata) =>
    rpcError('MERCHANT_SUSPENDED', 'the merchant is suspended; the operator of the gateway must resume it', {
      metadata,
    }),
  production_not_activated: (metadata: Metadata) =>
    rpcError(
      'PRODUCTION_NOT_ACTIVATED',
      'production is not activated for the merchant; the operator of the gateway must activate it',
      { metadata },
    ),
} as const;

/**
 * The terms of a merchant that may use the environment now.
 * @throws NOT_FOUND MERCHANT_NOT_FOUND; PERMISSION_DENIED MERCHANT_SUSPENDED or PRODUCTION_NOT_ACTIVATED.
 */
export async function requireMerchant(
  find: FindMerchant,
  merchantId: PublicId<'mer'>,
  environment: Environment,
): Promise<MerchantTerms> {
  const terms = await find(merchantId);
  if (terms === undefined) throw rpcError('MERCHANT_NOT_FOUND', `there is no merchant ${merchantId}`);
  const refusal = refuseMerchant(terms, environment);
  if (refusal !== undefined) throw refusal;
  return terms;
}
