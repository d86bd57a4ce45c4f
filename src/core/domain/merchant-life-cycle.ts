import type { Environment } from './order.ts';
import { type Result, err, ok } from './result.ts';

/*
 * A merchant's standing has two independent parts:
 *
 *               suspendMerchant                                    activateProduction
 *   ACTIVE ◀──────────────────────▶ SUSPENDED      sandbox alone ──────────────────────▶ production too
 *               resumeMerchant
 *
 * A new merchant is ACTIVE, in the sandbox only or also in production. Production cannot be deactivated, but a suspension
 * blocks both environments. A command without effect returns the merchant unchanged. Every other command returns a new
 * version, and an editor may require the version that it read.
 */

export type MerchantStatus = 'ACTIVE' | 'SUSPENDED';

export interface MerchantStanding {
  readonly status: MerchantStatus;
  readonly productionActivated: boolean;
}

interface Versioned {
  /** The version: later with each change. */
  readonly updatedAt: Date;
}

/** The standing of a new merchant. */
export const beginStanding = (productionActivated: boolean): MerchantStanding => ({
  status: 'ACTIVE',
  productionActivated,
});

export const suspendMerchant = <M extends MerchantStanding & Versioned>(merchant: M, now: Date): M =>
  newVersion<M>(merchant, { ...merchant, status: 'SUSPENDED' }, now);

export const resumeMerchant = <M extends MerchantStanding & Versioned>(merchant: M, now: Date): M =>
  newVersion<M>(merchant, { ...merchant, status: 'ACTIVE' }, now);

export const activateProduction = <M extends MerchantStanding & Versioned>(merchant: M, now: Date): M =>
  newVersion<M>(merchant, { ...merchant, productionActivated: true }, now);

/**
 * Sets fields of a merchant, its standing excepted. Rejection: `changed_meanwhile` when `expectedAt` is given and is not
 * the merchant's version.
 */
export function updateMerchant<M extends MerchantStanding & Versioned>(
  merchant: M,
  fields: Partial<Omit<M, keyof MerchantStanding | keyof Versioned>>,
  expectedAt: Date | undefined,
  now: Date,
): Result<M, 'changed_meanwhile'> {
  if (expectedAt !== undefined && expectedAt.getTime() !== merchant.updatedAt.getTime())
    return err('changed_meanwhile');
  return ok(newVersion(merchant, { ...merchant, ...fields }, now));
}

/** Whether a merchant may use an environment now. A suspension is reported first. */
export function admitMerchant(
  { status, productionActivated }: MerchantStanding,
  environment: Environment,
): Result<null, 'suspended' | 'production_not_activated'> {
  if (status === 'SUSPENDED') return err('suspended');
  if (environment === 'PRODUCTION' && !productionActivated) return err('production_not_activated');
  return ok(null);
}

/** `next` as a new version. Two changes in one millisecond get two versions, so that an editor detects both. */
function newVersion<M extends Versioned>(merchant: M, next: M, now: Date): M {
  if (isSame(merchant, next)) return merchant;
  return { ...next, updatedAt: new Date(Math.max(now.getTime(), merchant.updatedAt.getTime() + 1)) };
}

/** Equality of plain values, lists and records. Two times are equal only when they are the same object. */
function isSame(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (!isPlain(left) || !isPlain(right)) return false;
  const names = Object.keys(left);
  return (
    names.length === Object.keys(right).length &&
    names.every((name) => Object.hasOwn(right, name) && isSame(left[name], right[name]))
  );
}

const isPlain = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !(value instanceof Date);
