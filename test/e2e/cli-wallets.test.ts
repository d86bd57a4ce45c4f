import { afterEach, expect, test } from '@jest/globals';
import pg from 'pg';
import { startStack } from '../support/stack.ts';
import type { Stack } from '../support/stack.ts';
import { waitUntil } from '../support/wait-until.ts';
import { openCommandLine, widthOf } from './cli-harness.ts';
import type { CommandLine } from './cli-harness.ts';

let stack: Stack | undefined;
let cli: CommandLine | undefined;
afterEach(async () => {
  await cli?.stop();
  await stack?.stop();
});

async function open(wallets: number): Promise<CommandLine> {
  stack = await startStack({ facades: 0, wallets });
  cli = await openCommandLine({
    GATEHOUSE_CORE_ADDRESSES: stack.addresses.join(','),
    GATEHOUSE_SERVICE_TOKEN: stack.tokens.reader,
  });
  return cli;
}

interface Status {
  readonly status: { readonly wallet: string; readonly environment: string; readonly health: string };
  readonly instance: string;
}

test('wallet status shows the wallets that a process talks to, for a reader, too', async () => {
  const { run, json } = await open(1);
  const statuses = await waitUntil('both wallets are up', async () => {
    const found = (await json('wallet', 'status'))['statuses'] as readonly Status[];
    return found.length > 1 && found.every(({ status }) => status.health === 'up') ? found : undefined;
  });

  const { exitCode, stdout, stderr } = await run('wallet', 'status');

  expect(statuses.map(({ status }) => status.wallet).sort()).toEqual(['walleta', 'walletb']);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  expect(stdout).toMatch(/^WALLET +ENVIRONMENT +HEALTH +WORK/m);
  expect(stdout).toMatch(/^walleta +SANDBOX +up +all/m);
  expect(stdout).toMatch(/^walletb +SANDBOX +up +all/m);
  expect(stdout).toContain('Calls and durations are from the last');
  expect(widthOf(stdout)).toBeLessThanOrEqual(120);
});

test('wallet status does not give the last report of a process that is silent as the present state', async () => {
  const { run, json } = await open(1);
  await waitUntil(
    'both wallets have reported',
    async () => ((await json('wallet', 'status'))['statuses'] as readonly Status[]).length > 1 || undefined,
  );
  await stack?.wallets[0]?.stop();
  const database = new pg.Client({ connectionString: stack?.databaseUrl });
  await database.connect();
  await database.query(`update core.wallet_statuses set reported_at = now() - interval '10 minutes'`);
  await database.end();

  const { stdout } = await run('wallet', 'status');

  expect(stdout).toMatch(/^walleta +SANDBOX +unknown +\S+\n +out of date$/m);
  expect(stdout).not.toMatch(/ up /);
});

test('wallet status is of one environment when asked for', async () => {
  const { json, run } = await open(1);
  await waitUntil('a wallet has reported', async () => {
    const { statuses } = await json('wallet', 'status', '--environment', 'sandbox');
    return (statuses as readonly Status[]).length > 0 ? true : undefined;
  });

  const production = await run('wallet', 'status', '--environment', 'production');

  expect(production.exitCode).toBe(0);
  expect(production.stdout).toContain('No wallets process has sent a report');
});

test('wallet status says what to start when no wallets process reports', async () => {
  const { run, json } = await open(0);

  const { exitCode, stdout } = await run('wallet', 'status');

  expect(exitCode).toBe(0);
  expect(stdout).toContain('Start one, or run: gatehouse doctor');
  expect(await json('wallet', 'status')).toEqual({ statuses: [] });
});
