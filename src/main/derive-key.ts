import { hkdfSync } from 'node:crypto';

type Purpose =
  | 'api-key-hash'
  | 'checkout-token'
  | 'totp-secret'
  | 'recovery-code-hash'
  | 'customer-network'
  | 'wallet-account'
  | 'payment-attempt-id'
  | 'event-seal'
  | 'audit-root'
  | 'erasure-seal'
  | 'erased-phone'
  | 'master-key-check';

/**
 * A key for one purpose, derived from the master key (HKDF-SHA256, RFC 5869). Knowledge of one derived key reveals
 * nothing about another.
 */
export const deriveKey = (masterKey: Buffer, purpose: Purpose): Buffer =>
  Buffer.from(hkdfSync('sha256', masterKey, '', `gatehouse/${purpose}/v1`, 32));
