import { describe, expect, test } from '@jest/globals';
import { temporaryFolders } from '../unit/local/temporary-folder.ts';
import { execute } from './cli-harness.ts';
import type { Outcome } from './cli-harness.ts';
import { oneCommand } from './one-command.ts';

const playDemo = (dataFolder: string, ...args: readonly string[]): Promise<Outcome> =>
  execute(process.execPath, ['src/main/demo.ts', ...args], {
    PATH: process.env['PATH'],
    GATEHOUSE_DATA_DIR: dataFolder,
  });

describe('npm run demo', () => {
  // In this order they are cleaned up: first the processes, then their folders.
  const start = oneCommand();
  const newFolder = temporaryFolders();

  test('says what to do when nothing runs', async () => {
    const { exitCode, stdout, stderr } = await playDemo(await newFolder());

    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toContain('Gatehouse is not running here');
    expect(stderr).toContain('Start it in another terminal with: npm start');
  });

  test('plays payments at two wallets and refunds, prints each hop, and tells when Gatehouse has stopped', async () => {
    const dataFolder = await newFolder();
    const run = start({
      dataFolder,
      env: { GATEHOUSE_WALLET_CALLBACK_PORT: '0', GATEHOUSE_SIMULATOR_PORT: '0' },
    });
    await run.ready();

    const first = await playDemo(dataFolder);

    expect(first).toMatchObject({ exitCode: 0, stderr: '' });
    const [, paid = '', poor = '', stray = ''] = first.stdout.split(/\n\n\d\. /);
    const hops = ['shop → facade', 'core ', 'facade → shop', 'wallets → wallet', 'wallet → payer'];
    for (const hop of [...hops, 'wallet → wallets', 'webhooks → shop']) expect(paid).toContain(hop);
    expect(paid).toMatch(/event 3 COMPLETED: order COMPLETED, payment attempt SUCCEEDED$/m);
    expect(paid).toMatch(/order\.completed, signed with the shop's secret$/m);
    expect(paid).toMatch(/POST \/api\/v1\/verify: 200 COMPLETED$/m);
    expect(paid).toMatch(/wallet's ledger +150 ETB debited$/m);
    expect(poor).toMatch(/event 3 FAILED: .*insufficient_funds$/m);
    expect(poor).toMatch(/wallet's ledger +nothing debited$/m);
    expect(stray).toMatch(/stray payment REVERSED: the wallet confirms the reversal of 100\.5 ETB$/m);
    expect(stray).toMatch(/wallet's ledger +100\.5 ETB debited, 100\.5 ETB reversed$/m);
    const seconds = [...paid.matchAll(/^ +(\d+\.\d{3}) s /gm)].map(([, text]) => Number(text));
    expect(seconds.length).toBeGreaterThan(9);
    expect(seconds).toEqual([...seconds].sort((a, b) => a - b));

    // The last commands run as they are printed.
    const [, more = ''] = first.stdout.split('See more\n');
    expect(await execute('bash', ['-ec', more], { PATH: process.env['PATH'] })).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/walleta_ussd[^]*order\.completed[^]*wrong_amount[^]*walleta in SANDBOX/),
    });

    const telebirr = await playDemo(dataFolder, '--wallet', 'telebirr');
    expect(telebirr.stdout).not.toContain('gatehouse reconcile');
    expect(telebirr.stderr).toBe('');
    const [, done = '', refused = '', lost = ''] = telebirr.stdout.split(/\n\n\d\. /);
    expect(done).toMatch(/event 3 COMPLETED: .*\n[^]*wallet's ledger +150 ETB debited$/m);
    expect(refused).toMatch(/event 3 PAYMENT_DECLINED: .*\n[^]*wallet's ledger +nothing debited$/m);
    expect(lost).not.toContain('wallet → wallets');
    expect(lost).toMatch(/event 3 COMPLETED: [^]*wallet's ledger +99 ETB debited$/m);
    const refunds = await playDemo(dataFolder, '--refund');
    expect(refunds).toMatchObject({ exitCode: 0, stderr: '' });
    const [, part = '', denied = '', silent = ''] = refunds.stdout.split(/\n\n\d\. /);
    expect(part).toMatch(/refund\.completed, signed with the shop's secret$/m);
    expect(part).toMatch(/POST \/api\/v1\/refund\/verify: 200 COMPLETED$/m);
    expect(part).toMatch(/wallet's ledger +150 ETB debited, 40 ETB reversed$/m);
    expect(denied).toMatch(/REFUND_FAILED: order COMPLETED, refund of 80\.00 ETB FAILED: \w+$/m);
    expect(denied).toMatch(/wallet's ledger +80 ETB debited$/m);
    expect(silent).toMatch(/POST \/api\/v1\/refund\/verify: 200 COMPLETED$/m);
    expect(silent).toMatch(/wallet's ledger +60 ETB debited, 60 ETB reversed$/m);
    for (const args of [
      ['--wallet', 'paypal'],
      ['--refund', '--wallet', 'mtn'],
    ])
      expect(await playDemo(dataFolder, ...args)).toMatchObject({
        exitCode: 1,
        stderr: expect.stringContaining('walleta, walletb, telebirr'),
      });

    run.process.kill('SIGTERM');
    await run.ended;
    const { exitCode, stderr } = await playDemo(dataFolder);
    expect(exitCode).toBe(1);
    expect(stderr).toContain('does not answer');
    expect(stderr).toContain('npm start');
  });
});
