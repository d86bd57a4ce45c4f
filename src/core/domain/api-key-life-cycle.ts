import type { Environment } from './order.ts';
import { type Result, err, ok } from './result.ts';

/*
 * The life of an API key. Only an ACTIVE or ENDING key authenticates:
 *
 *                      rotateApiKey                 at expiresAt
 *   issueApiKey ─▶ ACTIVE ─────────▶ ENDING ─────────────────────▶ EXPIRED
 *                    │                │  ▲ │                          │
 *                    │                │  └─┘ rotateApiKey             │
 *                    │                │      (ends earlier or stays)  │
 *                    └────────────────┴──────────────────────────────┴──▶ REVOKED
 *                                       revokeApiKey
 *
 * A rotation also issues the successor: ACTIVE, with the same merchant, environment, label and scopes. Both keys authenticate
 * during the overlap. A key that no longer authenticates gets no successor and never authenticates again.
 */

/** The permissions that a key can have in addition to those of every key. */
export const apiKeyScopes = ['REFUNDS'] as const;
export type ApiKeyScope = (typeof apiKeyScopes)[number];

/** How many keys of one merchant may authenticate in one environment at a time, before another can be issued. */
export const maxUsableKeys = 20;

/** The limit with successors: a merchant that has reached `maxUsableKeys` can still replace each of its keys. */
export const maxUsableKeysInRotation = 2 * maxUsableKeys;

/** The precision of a key's last use. */
const lastUsePrecisionMs = 60_000;

export interface ApiKeyTimes {
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
}

export type ApiKeyState = 'ACTIVE' | 'ENDING' | 'EXPIRED' | 'REVOKED';

/** The state of a key at a time. A key has expired from the instant `expiresAt` on. */
export function apiKeyState({ expiresAt, revokedAt }: ApiKeyTimes, at: Date): ApiKeyState {
  if (revokedAt !== null) return 'REVOKED';
  if (expiresAt === null) return 'ACTIVE';
  return expiresAt > at ? 'ENDING' : 'EXPIRED';
}

/** Whether a key authenticates at a time. */
export function isUsable(key: ApiKeyTimes, at: Date): boolean {
  const state = apiKeyState(key, at);
  return state === 'ACTIVE' || state === 'ENDING';
}

/**
 * The state of a new key, given the merchant's existing keys in its environment. Rejection: `too_many` when `maxUsableKeys`
 * of them are usable.
 */
export function issueApiKey(existing: readonly ApiKeyTimes[], now: Date): Result<ApiKeyTimes, 'too_many'> {
  return countUsable(existing, now) >= maxUsableKeys ? err('too_many') : ok(newKey);
}

const countUsable = (keys: readonly ApiKeyTimes[], now: Date): number =>
  keys.filter((key) => isUsable(key, now)).length;

const newKey: ApiKeyTimes = { expiresAt: null, revokedAt: null };

interface Inherited {
  readonly environment: Environment;
  readonly label: string;
  readonly scopes: readonly ApiKeyScope[];
}

export interface Rotation<Key> {
  /** The values that the new key inherits from the old one. */
  readonly successor: ApiKeyTimes & Inherited;
  readonly replaced: Key;
}

/**
 * Creates a successor of a key. The old key expires after the overlap, or at its earlier expiry. `others` are the merchant's
 * other keys in its environment. Rejections: `not_usable` when the key has expired or was revoked; `too_many` when the merchant
 * would have more than `maxUsableKeysInRotation` usable keys.
 */
export function rotateApiKey<Key extends ApiKeyTimes & Inherited>(
  key: Key,
  others: readonly ApiKeyTimes[],
  overlapMs: number,
  now: Date,
): Result<Rotation<Key>, 'not_usable' | 'too_many'> {
  if (!isUsable(key, now)) return err('not_usable');
  const overlapEnd = new Date(now.getTime() + overlapMs);
  const expiresAt = key.expiresAt !== null && key.expiresAt <= overlapEnd ? key.expiresAt : overlapEnd;
  const { environment, label, scopes } = key;
  const replaced = { ...key, expiresAt };
  if (countUsable([...others, replaced, newKey], now) > maxUsableKeysInRotation) return err('too_many');
  return ok({ successor: { ...newKey, environment, label, scopes }, replaced });
}

/** Replaces the scopes of a key. Rejection: `not_usable` when it has expired or was revoked. */
export const setScopes = <Key extends ApiKeyTimes & Inherited>(
  key: Key,
  scopes: readonly ApiKeyScope[],
  now: Date,
): Result<Key, 'not_usable'> => (isUsable(key, now) ? ok({ ...key, scopes }) : err('not_usable'));

/** Ends a key at once in any state. A key that is already revoked is returned unchanged. */
export const revokeApiKey = <Key extends ApiKeyTimes>(key: Key, now: Date): Key =>
  key.revokedAt === null ? { ...key, revokedAt: now } : key;

/**
 * Records the use of a key. Returns the key unchanged if a use in the last minute is already recorded. A recorded use that is more than a
 * minute in the future comes from a wrong clock, and is replaced.
 */
export function recordKeyUse<Key extends { readonly lastUsedAt: Date | null }>(key: Key, now: Date): Key {
  const { lastUsedAt } = key;
  if (lastUsedAt !== null && Math.abs(now.getTime() - lastUsedAt.getTime()) < lastUsePrecisionMs) return key;
  return { ...key, lastUsedAt: now };
}
