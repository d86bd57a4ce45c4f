import type { EntityManager } from '@mikro-orm/postgresql';
import type { Pool, PoolClient } from 'pg';
import { storedId } from '../../../contract/public-id.ts';
import type { PublicId } from '../../../contract/public-id.ts';
import {
  bulkStatement,
  plainColumn,
  rowList,
  textColumn,
} from '../../../platform/database/bulk-statement.ts';
import { runStatement } from '../../../platform/database/run-statement.ts';
import type { Statement } from '../../../platform/database/run-statement.ts';
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

/** The answer to a request with a key, as it is stored. */
export interface KeyedAnswer extends StoredKey {
  readonly name: KeyName;
}

/** Runs a statement with `?` for each value in one transaction. */
export type Execute = (text: string, values: readonly unknown[]) => Promise<unknown[]>;

export const executeOn =
  (client: Pool | PoolClient): Execute =>
  (text, values) => {
    let position = 0;
    const numbered = text.replaceAll('?', () => `$${(position += 1)}`);
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

/** Waits until no other transaction has locked the key, and locks it until the end of this one. */
export async function lockKey(execute: Execute, name: KeyName): Promise<void> {
  await execute('select pg_advisory_xact_lock(hashtextextended(?, 0))', [
    `idempotency:${nameOf(name).join(':')}`,
  ]);
}

/** Stores an answer for 24 hours. Returns false, and stores nothing, when the key has an unexpired answer. */
export async function writeKey(
  execute: Execute,
  { name, fingerprint, answer }: KeyedAnswer,
): Promise<boolean> {
  const written = await execute(
    `insert into core.idempotency_keys (merchant_id, environment, operation, key, fingerprint, answer, expires_at)
     values (?::uuid, ?::core.environment, ?, ?, ?, ?, now() + interval '24 hours')
     on conflict (merchant_id, environment, operation, key) do update
       set fingerprint = excluded.fingerprint, answer = excluded.answer, expires_at = excluded.expires_at
       where idempotency_keys.expires_at <= now()
     returning 1`,
    [...nameOf(name), fingerprint, answer],
  );
  return written.length > 0;
}

/** Answers with the orders that they are about, as a part of a bulk statement. */
export const keyedAnswerRows = rowList<KeyedAnswer & { readonly orderId: string }>(
  {
    order_id: plainColumn('uuid', (row) => row.orderId),
    merchant_id: plainColumn('uuid', (row) => storedId('mer', row.name.merchantId)),
    environment: plainColumn('core.environment', (row) => row.name.environment),
    operation: plainColumn('text', (row) => row.name.operation),
    key: textColumn('text', (row) => row.name.key),
    fingerprint: textColumn('bytea', (row) => row.fingerprint),
    answer: textColumn('bytea', (row) => row.answer),
  },
  { hidesLength: true },
);

const expired = bulkStatement(
  undefined,
  { keyed: keyedAnswerRows },
  (sql) => `
with found as (
  select k.ctid from ${sql.keyed} join core.idempotency_keys k using (merchant_id, environment, operation, key)
  where k.expires_at <= now()
  order by merchant_id, environment, operation, key for update of k
)
delete from core.idempotency_keys where ctid in (select ctid from found)`,
);

/** Removes the expired answers of these keys, so that the transaction can insert others. Concurrent transactions do not deadlock. */
export const removingExpired = (answers: readonly KeyedAnswer[]): Statement =>
  expired.with({ keyed: answers.map((answer) => ({ orderId: noOrder, ...answer })) });

/** The statement does not use the order. */
const noOrder = '00000000-0000-0000-0000-000000000000';
