import { LRUCache } from 'lru-cache';
import type { ConnectError } from '@connectrpc/connect';
import { rpcError } from '../../contract/error-reason.ts';
import { admitMerchant } from '../domain/merchant-life-cycle.ts';
import type { MerchantStanding } from '../domain/merchant-life-cycle.ts';
import type { Environment } from '../domain/order.ts';
import type { AgreedTerms } from '../domain/merchant-terms.ts';
import type { PublicId } from '../../contract/public-id.ts';

/** How customers reach a merchant; '' for what the merchant has not given. */
export interface MerchantContact {
  readonly phone: string;
  readonly email: string;
}

/** What has to be known of a merchant before anything is done for it. */
export interface MerchantTerms extends AgreedTerms, MerchantStanding {
  readonly name: string;
  readonly contact: MerchantContact;
  readonly sessionLifetimeMs: number;
}

/** The terms of a merchant, by its id as it is shown; undefined when there is no such merchant. */
export type FindMerchant = (merchantId: PublicId<'mer'>) => Promise<MerchantTerms | undefined>;

/** A suspension is in force everywhere within 5 seconds: this, the facades' own 3 and the way between them. */
const maxAgeMs = 1_500;
const maxMerchants = 50_000;

/** Looks merchants up, and answers from memory for a moment: every registration asks. */
export function createFindMerchant(read: FindMerchant): FindMerchant {
  // What was not found is not kept: a merchant just made must work at once.
  const cache = new LRUCache<PublicId<'mer'>, MerchantTerms>({
    max: maxMerchants,
    ttl: maxAgeMs,
    fetchMethod: (merchantId) => read(merchantId),
  });
  return async (merchantId) => cache.get(merchantId) ?? cache.fetch(merchantId);
}

/** Why a merchant may not use an environment now, if it may not. `metadata`: what the caller may learn beside that. */
export function refuseMerchant(
  terms: MerchantTerms,
  environment: Environment,
  metadata: Readonly<Record<string, string>> = {},
): ConnectError | undefined {
  const admitted = admitMerchant(terms, environment);
  return admitted.ok ? undefined : refusals[admitted.error](metadata);
}

type Metadata = Readonly<Record<string, string>>;

const refusals = {
  suspended: (metadata: Metadata) =>
    rpcError('MERCHANT_SUSPENDED', 'the merchant is suspended', { metadata }),
  production_not_activated: (metadata: Metadata) =>
    rpcError('PRODUCTION_NOT_ACTIVATED', 'the merchant has not been let into production', { metadata }),
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
