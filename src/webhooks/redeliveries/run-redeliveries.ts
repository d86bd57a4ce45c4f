import type { Pool, PoolClient } from 'pg';
import { inTransaction } from '../../platform/database/in-transaction.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import { limitFailures } from '../../platform/line-limit.ts';
import type { Logger } from '../../platform/logger.ts';
import type { WakeSignal } from '../../platform/wake-signal.ts';
import type { Database } from '../database/database.ts';
import type { DeliveryState, Environment } from '../domain/delivery.ts';
import { makePending } from './make-pending.sql.ts';
import type { Redelivered } from './make-pending.sql.ts';
import { deliveryIdAfter } from './redelivery-store.ts';

export interface RunRedeliveriesParts {
  readonly database: Pick<Database, 'pool'>;
  /** Wakes this task when a redelivery was started. */
  readonly signal: WakeSignal;
  /** Called when deliveries became due. */
  readonly onDue: () => void;
  readonly logger: Logger;
  /** The wait after a round without work. */
  readonly idleMs: number;
}

/** The size of a batch. Its transaction takes some tens of milliseconds and blocks writes for these lanes. */
const batchSize = 500;

/**
 * Processes redeliveries until `stop` aborts, one batch of each in turn. A batch is one transaction, which locks the
 * redelivery and stores its progress. If the process exits within a batch, the batch is rolled back, and another process
 * continues from the stored progress. A redelivery whose batch fails waits for its next turn like the others.
 */
export async function runRedeliveries(parts: RunRedeliveriesParts, stop: AbortSignal): Promise<void> {
  const { database, signal, onDue, logger, idleMs } = parts;
  const logFailure = limitFailures(
    (error, running: RunningRow | undefined) =>
      running === undefined
        ? logger.warn({ err: error }, 'redeliveries could not be read; trying again')
        : logger.warn(
            { err: error, merchant_id: running.merchant_id, redelivery_id: running.id },
            'redelivery failed; trying again',
          ),
    (running) => running?.id ?? '',
  );
  while (!stop.aborted) {
    const worked = await redeliverBatch(database.pool, logFailure);
    if (worked === undefined) {
      await signal.wait(idleMs, stop);
      continue;
    }
    if (worked.redelivered > 0) onDue();
    if (worked.isEnded) {
      const { merchantId, id: redeliveryId, total } = worked;
      logger.info(
        { merchant_id: merchantId, redelivery_id: redeliveryId, redelivered: total },
        'redelivery ended',
      );
    }
  }
}

interface RunningRow {
  readonly merchant_id: string;
  readonly id: string;
  readonly environment: Environment;
  readonly created_from: Date;
  readonly created_to: Date;
  readonly states: DeliveryState[];
  readonly after_id: string;
}

/** The redelivery that has waited longest for its turn. Redeliveries that another process has locked are skipped. */
const takeTurn = `
select merchant_id, id, environment, created_from, created_to, states::text[] as states, after_id
from webhooks.redeliveries
where ended_at is null
order by worked_at nulls first, created_at
limit 1
for update skip locked`;

// By id alone, so that a batch costs the same when few deliveries match.
const readBatch = `
select id, merchant_id as "merchantId", environment, endpoint,
  environment = $5 and created_at >= $6 and created_at < $7
    and state = any($8::webhooks.delivery_state[]) as "isWanted"
from webhooks.deliveries
where merchant_id = $1 and id > $2 and id < $3
order by id
limit $4`;

const endTurn = `
update webhooks.redeliveries
set after_id = $3, redelivered_count = redelivered_count + $4, worked_at = now(),
    ended_at = case when $5 then now() end
where merchant_id = $1 and id = $2
returning redelivered_count`;

interface WorkedBatch {
  readonly merchantId: string;
  readonly id: string;
  readonly redelivered: number;
  readonly isEnded: boolean;
  /** The total over all its batches. */
  readonly total: number;
}

/** A failed batch is rolled back. Without this, its redelivery would be the next again, and the others would wait for it. */
const loseTurn =
  'update webhooks.redeliveries set worked_at = clock_timestamp() where merchant_id = $1 and id = $2';

/**
 * Undefined when there is no redelivery, when other processes have locked all of them, and after a failure. `onFailure` gets the
 * redelivery that failed; undefined when none could be read.
 */
async function redeliverBatch(
  pool: Pool,
  onFailure: (error: unknown, running: RunningRow | undefined) => void,
): Promise<WorkedBatch | undefined> {
  let running: RunningRow | undefined;
  try {
    return await inTransaction(pool, [], async (client) => {
      [running] = await runStatement<RunningRow & Record<string, unknown>>(client, { text: takeTurn });
      return running === undefined ? undefined : workOn(client, running);
    });
  } catch (error) {
    onFailure(error, running);
    // If this fails, the redelivery has the next turn too.
    if (running !== undefined)
      await runStatement(pool, { text: loseTurn, values: [running.merchant_id, running.id] }).catch(
        () => undefined,
      );
    return undefined;
  }
}

async function workOn(client: PoolClient, running: RunningRow): Promise<WorkedBatch> {
  const { merchant_id: merchantId, id, created_to: createdTo, states } = running;
  const deliveries = await runStatement<Redelivered & { readonly isWanted: boolean }>(client, {
    text: readBatch,
    values: [
      merchantId,
      running.after_id,
      deliveryIdAfter(createdTo),
      batchSize,
      running.environment,
      running.created_from,
      createdTo,
      states,
    ],
  });
  const wanted = deliveries.filter(({ isWanted }) => isWanted);
  const redelivered = await makePending(client, merchantId, wanted, { redeliveryId: id, states });
  const isEnded = deliveries.length < batchSize;
  const afterId = deliveries.at(-1)?.id ?? running.after_id;
  const [row] = await runStatement<{ redelivered_count: string }>(client, {
    text: endTurn,
    values: [merchantId, id, afterId, redelivered, isEnded],
  });
  return { merchantId, id, redelivered, isEnded, total: Number(row?.redelivered_count) };
}
