import { rpcError } from '../../contract/error-reason.ts';
import { publicId } from '../../contract/public-id.ts';
import type { PublicId, StoredId } from '../../contract/public-id.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import { createBatcher } from '../../platform/batcher.ts';
import type { Environment } from '../domain/order.ts';
import type { Database } from './database.ts';

/** Whether new money may move. The gate is closed while a restored database does not know yet what the wallets did. */
export interface PaymentGate {
  readonly isOpen: (environment: Environment) => boolean;
  /** Whether a merchant may take payments: the environment is open, and the merchant is not held. */
  readonly isOpenFor: (environment: Environment, merchantId: PublicId<'mer'>) => boolean;
  /**
   * The error of a call about an order that core does not have. It is RECOVERING while a restore may have lost the order, otherwise
   * `notFound`, which is ORDER_NOT_FOUND by default. Without an environment, a restore of either one counts. Core detects a restore
   * within seconds. Until then it would deny an order that it has acknowledged, so it reads the state from the database.
   */
  readonly missing: (
    order: { readonly environment?: Environment | undefined; readonly merchantId: PublicId<'mer'> },
    notFound?: Error,
  ) => Promise<Error>;
  /** @throws RECOVERING while it is closed for the merchant */
  readonly requireOpen: (environment: Environment, merchantId: PublicId<'mer'>) => void;
  /** Whether wallets have money of lost orders, which must not be charged again. */
  readonly hasUnclaimed: (environment: Environment) => boolean;
  /** Whether such money may name an order by one of these ends of attempt ids. */
  readonly mayBeUnclaimed: (environment: Environment, ends: readonly string[]) => boolean;
  /** False while a restored database is compared with the broker's stream. */
  readonly mayRelay: () => boolean;
  /** Reads the state from the database. A lease reads it in its own transaction, so a late refresh never sends a payment. */
  readonly refresh: () => Promise<void>;
}

const bothEnvironments = ['SANDBOX', 'PRODUCTION'] as const;

const publicIds = (merchants: readonly StoredId<'mer'>[]): ReadonlySet<string> =>
  new Set(merchants.map((id) => publicId('mer', id)));

/** False on a standby, which may lack acknowledged orders, and does not know its timeline until it is promoted. */
export const onPrimary = (condition: string): string =>
  `case when pg_is_in_recovery() then false else ${condition} end`;

const retryAfterMs = 30_000;

/** If more payments than this are unclaimed, the database is asked about each order. */
const maxUnclaimedInMemory = 10_000;

/** The refusal of new money while the gate is closed. */
export const recovering = (): Error =>
  rpcError(
    'RECOVERING',
    'the gateway was restored from a backup and is comparing its records with the wallets; send the same request again later',
    { retryAfterMs },
  );

const orderNotFound = (): Error =>
  rpcError('ORDER_NOT_FOUND', 'the merchant has no such order in this environment');

/** A gate is open until its first `refresh`. */
export function createPaymentGate({ pool }: Pick<Database, 'pool'>): PaymentGate {
  const open: Record<Environment, boolean> = { SANDBOX: true, PRODUCTION: true };
  const held: Record<Environment, ReadonlySet<string>> = { SANDBOX: new Set(), PRODUCTION: new Set() };
  const isOpenFor = (environment: Environment, merchantId: PublicId<'mer'>): boolean =>
    open[environment] && !held[environment].has(merchantId);
  let isCompared = true;
  let unclaimed: Partial<Record<Environment, ReadonlySet<string> | 'many'>> = {};
  const refresh = async (): Promise<void> => {
    const [row] = await runStatement<{
      sandbox: boolean;
      production: boolean;
      sandbox_held: StoredId<'mer'>[];
      production_held: StoredId<'mer'>[];
      compared: boolean;
      unclaimed: Partial<Record<Environment, string[]>>;
    }>(pool, {
      text: `
select ${onPrimary("core.takes_payments('SANDBOX')")} as sandbox, ${onPrimary("core.takes_payments('PRODUCTION')")} as production,
  core.held_merchants('SANDBOX') as sandbox_held, core.held_merchants('PRODUCTION') as production_held,
  ${onPrimary('coalesce((select home = core.database_home() from core.database_life), true)')}
    and not exists (select from core.recoveries where finished_at is null and stream = 'WAITING') as compared,
  (select coalesce(jsonb_object_agg(each.environment, ends) filter (where ends is not null), '{}')
   from unnest(enum_range(null::core.environment)) as each (environment), lateral (
     select jsonb_agg(reference_end) as ends from (
       select reference_end from core.unclaimed_payments
       where environment = each.environment and claimed_at is null limit $1
     ) first_ones
   ) named) as unclaimed`,
      values: [maxUnclaimedInMemory + 1],
    });
    if (row === undefined) return;
    open.SANDBOX = row.sandbox;
    open.PRODUCTION = row.production;
    held.SANDBOX = publicIds(row.sandbox_held);
    held.PRODUCTION = publicIds(row.production_held);
    isCompared = row.compared;
    unclaimed = Object.fromEntries(
      Object.entries(row.unclaimed).map(([environment, ends]) => [
        environment,
        ends.length > maxUnclaimedInMemory ? 'many' : new Set(ends),
      ]),
    );
  };
  const read = createBatcher<'gate', 'read'>({
    name: 'read the payment gate',
    run: async (asked) => {
      await refresh();
      return asked.map(() => 'read');
    },
    maxItems: 1_000,
    maxInFlight: 1,
    maxWaiting: 1_000,
  });
  return {
    isOpen: (environment) => open[environment],
    isOpenFor,
    async missing({ environment, merchantId }, notFound = orderNotFound()) {
      const environments = environment === undefined ? bothEnvironments : [environment];
      const mayBeLost = (): boolean => !environments.every((each) => isOpenFor(each, merchantId));
      if (!mayBeLost()) await read('gate', { aborted: false });
      return mayBeLost() ? recovering() : notFound;
    },
    requireOpen(environment, merchantId) {
      if (!isOpenFor(environment, merchantId)) throw recovering();
    },
    hasUnclaimed: (environment) => unclaimed[environment] !== undefined,
    mayBeUnclaimed(environment, ends) {
      const known = unclaimed[environment];
      if (known === undefined) return false;
      return known === 'many' || ends.some((end) => known.has(end));
    },
    mayRelay: () => isCompared,
    refresh,
  };
}
