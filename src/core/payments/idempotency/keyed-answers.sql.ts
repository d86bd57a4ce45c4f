import type { EntityManager } from '@mikro-orm/postgresql';
import type { Pool, PoolClient } from 'pg';
import { storedId } from '../../../contract/public-id.ts';
import type { PublicId } from '../../../contract/public-id.ts';
import { runStatement } from '../../../platform/database/run-statement.ts';
import type { Environment } from '../../domain/order.ts';

/** The operations that accept an idempotency key. Each has its own keys. */
export type KeyedOperation = 'REGISTER_ORDER' | 'START_DIRECT_PAYMENT' | 'CREATE_REFUND';

export interface KeyName {
  readonly merchantId: PublicId<'mer'>;
  readonly environment: Environment;
  readonly operation: KeyedOperation;
  readonly key: string;
}

export interface StoredKey {
  readonly fingerprint: Buffer;
  readonly answer: Buffer;
}

/** Runs a statement with `?` for each value in one transaction. */
export type Execute = (text: string, values: readonly unknown[]) => Promise<unknown[]>;

export const executeOn =
  (client: Pool | PoolClient): Execute =>
  (text, values) => {
    let place = 0;
    const numbered = text.replaceAll('?', () => `$${(place += 1)}`);
    return runStatement(client, { text: numbered, values: [...values] });
  };

export const executeIn =
  (em: EntityManager): Execute =>
  (text, values) =>
    em.execute(text, [...values]);

const nameOf = ({ merchantId, environment, operation, key }: KeyName) => [
  storedId('mer', merchantId),
  environment,
  operation,
  key,
];

/** The unexpired answer of a key. */
export async function readKey(execute: Execute, name: KeyName): Promise<StoredKey | undefined> {
  const rows = await execute(
    `select fingerprint, answer from core.idempotency_keys
     where merchant_id = ?::uuid and environment = ?::core.environment and operation = ? and key = ? and expires_at > now()`,
    nameOf(name),
  );
  return (rows as StoredKey[])[0];
}

/** Waits until no other transaction holds the key, and holds it until the end of this one. */
export async function lockKey(execute: Execute, name: KeyName): Promise<void> {
  await execute('select pg_advisory_xact_lock(hashtextextended(?, 0))', [
    `idempotency:${nameOf(name).join(':')}`,
  ]);
}

/** Stores an answer for 24 hours. The caller holds the key, so that only an expired row can be there. */
export async function writeKey(
  execute: Execute,
  name: KeyName,
  { fingerprint, answer }: { readonly fingerprint: Buffer; readonly answer: Buffer },
): Promise<void> {
  await execute(
    `insert into core.idempotency_keys (merchant_id, environment, operation, key, fingerprint, answer, expires_at)
     values (?::uuid, ?::core.environment, ?, ?, ?, ?, now() + interval '24 hours')
     on conflict (merchant_id, environment, operation, key) do update
       set fingerprint = excluded.fingerprint, answer = excluded.answer, expires_at = excluded.expires_at`,
    [...nameOf(name), fingerprint, answer],
  );
}
