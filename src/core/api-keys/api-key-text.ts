import { createHmac } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { Environment } from '../domain/order.ts';

const prefixes = { SANDBOX: 'svc_test_', PRODUCTION: 'svc_live_' } as const satisfies Record<
  Environment,
  string
>;

/** 32 random bytes are 43 characters in base64url, and a CRC-32 is 7 in base 36, because 36^6 < 2^32 < 36^7. */
const form = /^svc_(test|live)_[A-Za-z0-9_-]{43}[0-9a-z]{7}$/;
/** Enough to recognise a key. The other 37 characters stay secret. */
const shownLength = 'svc_live_'.length + 6;

const checksum = (text: string): string => crc32(text).toString(36).padStart(7, '0');

/** The text of a key. Its checksum is not secret. It reveals a mistyped or truncated key without a query. */
export function formatApiKey(environment: Environment, secret: Buffer): string {
  const text = prefixes[environment] + secret.toString('base64url');
  return text + checksum(text);
}

/** The environment of a key; undefined for a text that cannot be a key. */
export function environmentOfApiKey(key: string): Environment | undefined {
  if (!form.test(key) || checksum(key.slice(0, -7)) !== key.slice(-7)) return undefined;
  return key.startsWith(prefixes.SANDBOX) ? 'SANDBOX' : 'PRODUCTION';
}

/** The prefix of a key, which may be shown. */
export const shownPrefix = (key: string): string => key.slice(0, shownLength);

/** The stored hash of a key. A copy of the database is useless without the pepper. */
export const hashApiKey = (key: string, pepper: KeyObject): Buffer =>
  createHmac('sha256', pepper).update(key).digest();
