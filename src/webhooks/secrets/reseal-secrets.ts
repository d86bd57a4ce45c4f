import type { Pool } from 'pg';
import type { Logger } from '../../platform/logger.ts';
import { bulkStatement, column, rowList, scalar } from '../../platform/database/bulk-statement.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import type { Environment } from '../domain/delivery.ts';
import { SecretUnusableError } from './secret-cipher.ts';
import type { SecretCipher } from './secret-cipher.ts';

/** The result of one pass. */
export interface Resealed {
  readonly resealed: number;
  /** The number of secrets that could not be decrypted and remain unchanged. */
  readonly unusable: number;
  /** The first error. */
  readonly problem?: SecretUnusableError;
}

interface Row {
  readonly merchant_id: string;
  readonly environment: Environment;
  readonly id: string;
  readonly key_id: string;
  readonly sealed: Buffer;
}

const batchSize = 100;

const nextBatch = `
select merchant_id, environment, id, key_id, sealed
from webhooks.signing_secrets
where key_id <> $1 and (merchant_id, environment, id) > ($2, $3, $4)
order by merchant_id, environment, id
limit ${batchSize}`;

// A secret that changed meanwhile is left to the next pass.
const replace = bulkStatement(
  undefined,
  {
    key_id: scalar<string>('text'),
    fresh: rowList<Row & { readonly fresh: Buffer }>({
      merchant_id: column('text', (row) => row.merchant_id),
      environment: column('webhooks.environment', (row) => row.environment),
      id: column('text', (row) => row.id),
      old_sealed: column('bytea', (row) => row.sealed),
      sealed: column('bytea', (row) => row.fresh),
    }),
  },
  (sql) => `
update webhooks.signing_secrets as secrets
set key_id = ${sql.key_id}, sealed = fresh.sealed
from ${sql.fresh}
where (secrets.merchant_id, secrets.environment, secrets.id) = (fresh.merchant_id, fresh.environment, fresh.id)
  and secrets.sealed = fresh.old_sealed
returning secrets.id`,
);

/** Passes once over all secrets that are not encrypted with the first key, in small batches. */
export async function resealSecrets(pool: Pool, cipher: SecretCipher): Promise<Resealed> {
  let resealed = 0;
  let unusable = 0;
  let problem: SecretUnusableError | undefined;
  let last: Pick<Row, 'merchant_id' | 'environment' | 'id'> = {
    merchant_id: '',
    environment: 'SANDBOX',
    id: '',
  };
  for (;;) {
    const rows = await runStatement<Row>(pool, {
      text: nextBatch,
      values: [cipher.keyId, last.merchant_id, last.environment, last.id],
    });
    const fresh = rows.flatMap((row) => {
      const name = { merchantId: row.merchant_id, environment: row.environment, id: row.id };
      try {
        const text = cipher.open({ keyId: row.key_id, sealed: row.sealed }, name);
        return [{ ...row, fresh: cipher.seal(text, name).sealed }];
      } catch (error) {
        if (!(error instanceof SecretUnusableError)) throw error;
        unusable += 1;
        problem ??= error;
        return [];
      }
    });
    const written = await runStatement(pool, replace.with({ key_id: cipher.keyId, fresh }));
    resealed += written.length;
    const lastRow = rows.at(-1);
    if (lastRow === undefined || rows.length < batchSize) break;
    last = lastRow;
  }
  return { resealed, unusable, ...(problem === undefined ? {} : { problem }) };
}

/** Logs the result of a pass, unless it found nothing to do. */
export function logResealed(logger: Logger, { resealed, unusable, problem }: Resealed): void {
  if (resealed > 0) logger.info({ resealed }, 'signing secrets were encrypted again with the first key');
  if (problem !== undefined)
    logger.error({ unusable, key_id: problem.problem.keyName, first: problem.message }, unusableMessage);
}

const unusableMessage =
  'signing secrets cannot be decrypted, so webhooks of their merchants wait. Restore the key of this key_id in GATEHOUSE_WEBHOOK_SECRET_KEYS';
