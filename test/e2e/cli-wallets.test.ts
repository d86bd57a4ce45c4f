import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openWalletSide } from '../integration/wallets/wallet-processes.ts';
import type { WalletSide } from '../integration/wallets/wallet-processes.ts';
import { sharedStack } from '../support/shared-stack.ts';
import { openCommandLine } from './cli-harness.ts';
import type { CommandLine } from './cli-harness.ts';

const stack = sharedStack({ facades: 0 });
let side: WalletSide;
let cli: CommandLine;

const withVariables = async (own: Readonly<Record<string, string>>): Promise<CommandLine> =>
  openCommandLine({
    GATEHOUSE_CORE_ADDRESSES: stack.addresses.join(','),
    GATEHOUSE_SERVICE_TOKEN: stack.tokens.operator,
    ...own,
  });

beforeAll(async () => {
  side = openWalletSide(stack);
  await side.startSimulator();
  cli = await withVariables(side.walletVariables());
});
afterAll(async () => {
  await cli.stop();
  await side.stop();
});

test('wallet list shows the wallets that core has', async () => {
  const { stdout, exitCode } = await cli.run('wallet', 'list');

  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/walleta +\S* *Wallet A/);
  expect(stdout).toContain('walletb_ussd');
  expect(await cli.json('wallet', 'list')).toMatchObject({
    wallets: [
      { wallet: 'walleta', amharic_name: 'ዋሌት ኤ', connector: 'gsma' },
      { wallet: 'walletb', payment_options: ['walletb_ussd'] },
    ],
  });
});

test('wallet check tries the credentials of each wallet, without moving money', async () => {
  expect(await cli.json('wallet', 'check')).toEqual({
    wallets: ['walleta', 'walletb'].map((wallet) => ({
      wallet,
      environment: 'sandbox',
      health: 'available',
      credentials: 'accepted',
      detail: '',
    })),
  });
  expect(await side.charges()).toEqual([]);
});

test('wallet check says which credentials a provider refuses, and ends with 4', async () => {
  const wrong = await withVariables({ ...side.walletVariables(), WALLETA_CLIENT_SECRET: 'another-secret' });

  const { stdout, exitCode } = await wrong.run('wallet', 'check');

  expect(exitCode).toBe(4);
  expect(stdout).toMatch(/walleta.*SANDBOX.*refused/);
  expect(stdout).toMatch(/walletb.*SANDBOX.*accepted/);
  expect((await wrong.run('wallet', 'check', 'walletb')).exitCode).toBe(0);
  await wrong.stop();
});

test.each([
  [{ GATEHOUSE_WALLETS: '' }, [], 2, 'GATEHOUSE_WALLETS_FILE must name the JSON file'],
  [{ GATEHOUSE_WALLETS: '{"wallets":[{}]}' }, [], 2, 'GATEHOUSE_WALLETS, line 1: wallets[0].'],
  [{}, ['walletc'], 3, 'configures no wallet "walletc"'],
])('wallet check with %j %j ends with %i', async (own, args, exitCode, message) => {
  const other = await withVariables({ ...side.walletVariables(), ...own });

  expect(await other.run('wallet', 'check', ...args)).toMatchObject({
    exitCode,
    stderr: expect.stringContaining(message),
  });
  await other.stop();
});

test('wallet schema prints the JSON Schema of the file', async () => {
  expect(await cli.json('wallet', 'schema')).toMatchObject({ title: 'The wallets of a Gatehouse' });
});
