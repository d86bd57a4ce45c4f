import { startTemporaryNats } from '../../src/main/local/temporary-servers.ts';
import { databaseUrl, templateDatabase } from '../../test/support/servers.ts';
import { openStackGround } from '../../test/support/stack-ground.ts';
import { startStack } from '../../test/support/stack.ts';
import type { Stack } from '../../test/support/stack.ts';
import type { CleanUps } from '../system/clean-ups.ts';
import { startEmptyPostgres } from '../system/empty-postgres.ts';

export interface Shards {
  readonly source: Stack;
  readonly target: Stack;
}

/** How fast the simulated wallets answer. */
const walletTimeScale = 0.1;
/** Limits by key would hide what the databases can do. */
const settings = { GATEHOUSE_RATE_LIMIT_PER_KEY: '0' };
const processes = { cores: 1, facades: 1, wallets: 1, webhooks: 1, ownProcesses: true, settings } as const;
const grounds = { walletTimeScale, wallets: 1, webhooks: 1, settings, ownProcesses: true } as const;

/**
 * Starts two complete Gatehouses, each with a durable PostgreSQL and a broker of its own. They share what shards must share: the master key, the key of
 * the webhook secrets, and the wallets.
 */
export async function startShards(cleanUps: CleanUps): Promise<Shards> {
  // Both before the ground, which is closed on the server that was started last.
  const sourceUrl = await startPostgres(cleanUps);
  const targetUrl = await startPostgres(cleanUps);
  const ground = await openStackGround(grounds);
  cleanUps.add(ground.close);
  const start = async (of: Stack['ground']): Promise<Stack> => {
    const stack = await startStack({ ...processes, walletTimeScale, ground: of });
    cleanUps.add(stack.stop);
    return stack;
  };
  const source = await start({ ...ground, databaseUrl: sourceUrl });
  const broker = await startTemporaryNats();
  cleanUps.add(broker.stop);
  return { source, target: await start({ ...ground, databaseUrl: targetUrl, natsUrl: broker.url }) };
}

/** Returns the URL of its empty database. */
async function startPostgres(cleanUps: CleanUps): Promise<string> {
  let url = '';
  await startEmptyPostgres((server) => {
    cleanUps.add(server.remove);
    ({ url } = server);
  });
  return databaseUrl(url, templateDatabase);
}
