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
 * A rotation also issues the successor: ACTIVE, with the same merchant, environment and label. Both keys authenticate
 * during the overlap. A key that cannot authenticate any more has no successor and never authenticates again.
 */

/** How many keys of one merchant may authenticate in one environment at a time. */
export const maxUsableKeys = 20;

/** How exactly the last use of a key is known. */
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
 * The state of a new key beside those that the merchant has in its environment. Rejection: `too_many` when
 * `maxUsableKeys` of them can be used.
 */
export function issueApiKey(existing: readonly ApiKeyTimes[], now: Date): Result<ApiKeyTimes, 'too_many'> {
  const usable = existing.filter((key) => isUsable(key, now)).length;
  return usable >= maxUsableKeys ? err('too_many') : ok(newKey);
}

const newKey: ApiKeyTimes = { expiresAt: null, revokedAt: null };

export interface Rotation<Key> {
  /** What the new key has from the old one. */
  readonly successor: ApiKeyTimes & { readonly environment: Environment; readonly label: string };
  readonly replaced: Key;
}

/**
 * Gives a key a successor and lets it expire after the overlap, or at its earlier expiry. A rotation is not counted
 * against `maxUsableKeys`, so that a merchant with all its keys can still replace each. Rejection: `not_usable` when the
 * key has expired or was revoked.
 */
export function rotateApiKey<
  Key extends ApiKeyTimes & { readonly environment: Environment; readonly label: string },
>(key: Key, overlapMs: number, now: Date): Result<Rotation<Key>, 'not_usable'> {
  if (!isUsable(key, now)) return err('not_usable');
  const overlapEnd = new Date(now.getTime() + overlapMs);
  const expiresAt = key.expiresAt !== null && key.expiresAt <= overlapEnd ? key.expiresAt : overlapEnd;
  const { environment, label } = key;
  return ok({ successor: { ...newKey, environment, label }, replaced: { ...key, expiresAt } });
}

/** Ends a key at once, whatever its state. A key that was revoked before is given back as it is. */
export const revokeApiKey = <Key extends ApiKeyTimes>(key: Key, now: Date): Key =>
  key.revokedAt === null ? { ...key, revokedAt: now } : key;

/** Notes that a key was used. Gives the key as it is when that is known to the minute. */
export function recordKeyUse<Key extends { readonly lastUsedAt: Date | null }>(key: Key, now: Date): Key {
  const { lastUsedAt } = key;
  if (lastUsedAt !== null && now.getTime() - lastUsedAt.getTime() < lastUsePrecisionMs) return key;
  return { ...key, lastUsedAt: now };
}
