import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import {
  MerchantWalletService,
  WalletAccountCheck,
} from '../../src/gen/gatehouse/v1/merchant_wallet_service_pb.js';
import { mtnOfProcess, settings as mtnSettings } from '../integration/wallets/mtn-momo-subject.ts';
import { sharedSimulatorProcess } from '../integration/wallets/simulator-subject.ts';
import { openWalletSide } from '../integration/wallets/wallet-processes.ts';
import { sharedStack, shared } from '../support/shared-stack.ts';
import { openCommandLine, operatorSettings } from './cli-harness.ts';
import type { CommandLine } from './cli-harness.ts';

const stack = sharedStack({ facades: 0 });
const side = shared(async () => {
  const opened = openWalletSide(stack);
  await opened.startSimulator();
  return opened;
});
const withVariables = (own: Readonly<Record<string, string>>): Promise<CommandLine> =>
  openCommandLine({ ...operatorSettings(stack), ...own });
const cli = shared(() => withVariables(side.walletVariables()));
const { base_url: _url, ...mtnCredentials } = mtnSettings('');
const mtn = sharedSimulatorProcess({ mtn: { protocol: 'mtn-momo', ...mtnCredentials } });

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
      payer_started: 'not offered',
      detail: '',
    })),
  });
  expect(await side.charges()).toEqual([]);
});

test('wallet check names the refused credentials, and exits with code 4', async () => {
  const wrong = await withVariables({ ...side.walletVariables(), WALLETA_CLIENT_SECRET: 'another-secret' });

  const { stdout, exitCode } = await wrong.run('wallet', 'check');

  expect(exitCode).toBe(4);
  expect(stdout).toMatch(/walleta.*SANDBOX.*refused/);
  expect(stdout).toMatch(/walletb.*SANDBOX.*accepted/);
  expect((await wrong.run('wallet', 'check', 'walletb')).exitCode).toBe(0);
  await wrong.stop();
});

test.each([
  ['https://pay.example', 'available', /^$/],
  ['https://old.example', 'degraded', /pay\.example only, and ours is old\.example/],
  ['', 'available', /^$/],
])(
  'wallet check compares the host of our callbacks (%j) with that of MTN: %s',
  async (ownUrl, health, detail) => {
    const { settings, variables } = mtnOfProcess(`${String(mtn.ready['origin'])}/mtn`);
    const wallet = {
      ...{
        id: 'mtn',
        connector: 'mtn-momo',
        names: { en: 'MTN', am: 'MTN' },
        channels: ['ussd'],
        reconcile: false,
      },
      currencies: [{ code: 'EUR' }],
      environments: { sandbox: { settings: { ...settings, provider_callback_host: 'pay.example' } } },
    };
    const other = await withVariables({
      ...{ ...variables, GATEHOUSE_WALLETS: JSON.stringify({ wallets: [wallet] }) },
      GATEHOUSE_WALLET_CALLBACK_BASE_URL: ownUrl,
    });

    expect(await other.json('wallet', 'check')).toMatchObject({
      wallets: [{ credentials: 'accepted', health, detail: expect.stringMatching(detail) }],
    });
    await other.stop();
  },
);

test.each([
  [{ GATEHOUSE_WALLETS: '' }, [], 2, 'GATEHOUSE_WALLETS_FILE must name the JSON file'],
  [{ GATEHOUSE_WALLETS: '{"wallets":[{}]}' }, [], 2, 'GATEHOUSE_WALLETS, line 1: wallets[0].'],
  [{}, ['walletc'], 3, 'configures no wallet "walletc"'],
])('wallet check with %j %j exits with code %i', async (own, args, exitCode, message) => {
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

test("merchant wallet switches a wallet, and manages a merchant's own account without showing its secret", async () => {
  const { id: merchantId } = await stack.createMerchant();
  const worker = stack.client(MerchantWalletService, 'wallets');
  const file = join(cli.dataFolder, 'account.json');
  await writeFile(file, JSON.stringify({ client_id: 'shoes', client_secret: 'canary-of-a-client-secret' }));
  const wallet = (...args: string[]) => cli.run('merchant', 'wallet', ...args);

  expect((await wallet('off', merchantId, 'walletb')).stdout).toContain('walletb is off in SANDBOX');
  expect((await wallet('list', merchantId)).stdout).toMatch(
    /walletb +off +walletb_ussd +the operator's account/,
  );
  expect((await wallet('on', merchantId, 'walletb')).stdout).toContain('walletb is on in SANDBOX');
  expect((await wallet('fields', merchantId, 'walleta')).stdout).toMatch(/client_secret +secret +The OAuth/);

  const added = await cli.json('merchant', 'wallet', 'add-account', merchantId, 'walleta', '--values', file);
  const id = String(added['wallet_account_id']);
  const early = await wallet('promote', merchantId, id);
  expect(early).toMatchObject({
    exitCode: 4,
    stderr: expect.stringContaining('has not accepted the credentials'),
  });
  await worker.recordWalletAccountCheck({
    merchantId,
    walletAccountId: id,
    check: WalletAccountCheck.ACCEPTED,
  });
  expect((await wallet('promote', merchantId, id)).stdout).toMatch(/State +current/);
  const { stdout: listed } = await wallet('list', merchantId);
  expect(listed).toContain(`walleta_ussd`);
  expect(listed).toMatch(/client_secret\s+…cret/);
  expect(listed).not.toContain('canary');
  expect((await wallet('remove', merchantId, id)).exitCode).toBe(4);
  expect((await wallet('retire', merchantId, id)).stdout).toMatch(/State +retired/);
  expect((await wallet('check', merchantId, id)).stdout).toMatch(/Credentials +waiting/);
  expect((await wallet('remove', merchantId, id)).exitCode).toBe(0);
  expect(await wallet('remove', merchantId, id)).toMatchObject({
    exitCode: 3,
    stderr: expect.stringContaining('gatehouse merchant wallet list <merchant_id>'),
  });
});

test.each([
  ['not JSON', 'canary-not-json', 'is not JSON'],
  ['a list', '["canary"]', 'must contain an object'],
  ['a number as a value', '{"client_id": 7}', 'must contain only strings as values'],
  ['a field that does not exist', '{"base_url": "https://canary.example"}', 'client_id'],
])('merchant wallet add-account refuses %s, without repeating it', async (_what, content, problem) => {
  const { id: merchantId } = await stack.createMerchant();
  const file = join(cli.dataFolder, 'wrong.json');
  await writeFile(file, content);

  const refused = await cli.run('merchant', 'wallet', 'add-account', merchantId, 'walleta', '--values', file);

  expect(refused.exitCode).toBe(2);
  expect(refused.stderr).toContain(problem);
  expect(refused.stderr).not.toContain('canary');
});
