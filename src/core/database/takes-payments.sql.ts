import type { EntityManager } from '@mikro-orm/postgresql';
import type { StoredId } from '../../contract/public-id.ts';
import type { Statement } from '../../platform/database/run-statement.ts';
import { runReading } from '../../platform/database/transaction-statement.ts';
import type { Environment } from '../domain/order.ts';
import { onPrimary } from './payment-gate.ts';

/** A condition: the environment takes payments, and the merchant is not held. Both are SQL values. */
export const merchantTakesPayments = (environment: string, merchantId: string): string =>
  `${onPrimary(`core.takes_payments(${environment})`)} and not ${merchantId} = any (core.held_merchants(${environment}))`;

const ofEnvironment: Statement = {
  name: 'takes-payments',
  text: `select ${onPrimary('core.takes_payments($1::core.environment)')} as open`,
};

/**
 * Whether wallets may be called for new money. The transaction that leases the work asks. So the answer is false as soon as the database
 * is a restored one, even before any core has noticed it.
 */
export async function takesPayments(em: EntityManager, environment: Environment): Promise<boolean> {
  const [row] = await runReading<{ open: boolean }>(em, { ...ofEnvironment, values: [environment] });
  return row?.open === true;
}

/** Which merchants take payments, as the transaction sees it. */
export interface TakesPayments {
  readonly in: (environment: Environment) => boolean;
  /** Whether the environment holds merchants. */
  readonly holds: (environment: Environment) => boolean;
  /** Whether the environment takes payments, and the merchant is not held. */
  readonly of: (environment: Environment, merchantId: StoredId<'mer'>) => boolean;
}

type EnvironmentRow = {
  readonly environment: Environment;
  readonly open: boolean;
  readonly held: readonly StoredId<'mer'>[];
};

const ofAll: Statement = {
  name: 'take-payments',
  text: `
select e.environment, ${onPrimary('core.takes_payments(e.environment)')} as open, core.held_merchants(e.environment) as held
from unnest(enum_range(null::core.environment)) e (environment)`,
};

/**
 * Reads for a transaction, with one statement, which merchants take payments. A payment gate learns of a restore seconds later. So a
 * decision that a lost payment would change asks here. On a standby no merchant takes payments.
 */
export async function readTakesPayments(em: EntityManager): Promise<TakesPayments> {
  const rows = await runReading<EnvironmentRow>(em, ofAll);
  const rowOf = (asked: Environment) => rows.find(({ environment }) => environment === asked);
  const isOpen = (environment: Environment): boolean => rowOf(environment)?.open === true;
  const heldIn = (environment: Environment) => rowOf(environment)?.held ?? [];
  return {
    in: isOpen,
    holds: (environment) => heldIn(environment).length > 0,
    of: (environment, merchantId) => isOpen(environment) && !heldIn(environment).includes(merchantId),
  };
}
