/**
 * The process that moves a merchant. Its parent holds the merchant's requests when it asks for it. With a step to end after, it kills itself
 * there, as a crash would.
 */
import pg from 'pg';
import { deriveKey } from '../../src/main/derive-key.ts';
import { moveMerchant } from './move-merchant.ts';
import type { FromMover, MoverOptions, ToMover } from './mover-process.ts';

const options = JSON.parse(process.argv[2] ?? '') as MoverOptions;
const tell = (message: FromMover): void => void process.send?.(message);

const pools = [options.sourceUrl, options.targetUrl].map(
  (connectionString) => new pg.Pool({ connectionString, max: 1 }),
);

async function connect(pool: pg.Pool | undefined): Promise<pg.PoolClient> {
  if (pool === undefined) throw new Error('a move needs two databases');
  const client = await pool.connect();
  // The mover passes its own guards, and copies rows in any order.
  await client.query(`set session_replication_role = replica; set timezone = 'UTC'`);
  return client;
}

const [source, target] = [await connect(pools[0]), await connect(pools[1])];
const held = new Map<number, () => void>();
process.on('message', ({ hold }: ToMover) => held.get(hold)?.());
await moveMerchant({
  databases: { source, target },
  merchantId: options.merchantId,
  sealKey: deriveKey(Buffer.from(options.masterKey, 'hex'), 'event-seal'),
  hold: () =>
    new Promise((isHeld) => {
      const hold = held.size + 1;
      held.set(hold, isHeld);
      tell({ type: 'hold', hold });
    }),
  release: (to) => tell({ type: 'release', to }),
  reached(step, detail) {
    tell({ type: 'reached', step, detail });
    if (step === options.endAfter) process.kill(process.pid, 'SIGKILL');
  },
});
source.release();
target.release();
await Promise.all(pools.map((pool) => pool.end()));
process.disconnect();
