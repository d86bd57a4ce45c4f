import { createHmac } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { Environment } from '../domain/order.ts';

const prefixes = { SANDBOX: 'svc_test_', PRODUCTION: 'svc_live_' } as const satisfies Record<
  Environment,
  string
>;

/** 32 random bytes are 43 characters in base64url, a CRC-32 is 6 in base 36 with leading zeros (36^7 > 2^32: 7). */
const form = /^svc_(test|live)_[A-Za-z0-9_-]{43}[0-9a-z]{7}$/;
/** Enough to recognise a key by; the other 37 characters stay secret. */
const shownLength = 'svc_live_'.length + 6;

const checksum = (text: string): string => crc32(text).toString(36).padStart(7, '0');

/** The text of a key. The checksum is no secret: it tells a mistyped or truncated key without asking the database. */
export function formatApiKey(environment: Environment, secret: Buffer): string {
  const text = prefixes[environment] + secret.toString('base64url');
  return text + checksum(text);
}

/** The environment a key is for, or undefined when no key can look like that. */
export function environmentOfApiKey(key: string): Environment | undefined {
  if (!form.test(key) || checksum(key.slice(0, -7)) !== key.slice(-7)) return undefined;
  return key.startsWith(prefixes.SANDBOX) ? 'SANDBOX' : 'PRODUCTION';
}

/** The beginning of a key, to show. */
export const shownPrefix = (key: string): string => key.slice(0, shownLength);

/** What is stored of a key. A copy of the database without the pepper opens nothing. */
export const hashApiKey = (key: string, pepper: Buffer): Buffer =>
  createHmac('sha256', pepper).update(key).digest();
