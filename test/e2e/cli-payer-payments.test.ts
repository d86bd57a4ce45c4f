import { describe, expect, test } from '@jest/globals';
import { Environment } from '../../src/gen/gatehouse/v1/order_pb.js';
import { PayerPaymentService } from '../../src/gen/gatehouse/v1/payer_payment_service_pb.js';
import { mpesaDaraja } from '../../src/wallet-simulator/mpesa-daraja/mpesa-daraja.ts';
import { startMpesaSimulator } from '../integration/wallets/mpesa-simulator.ts';
import { certificate, credentials } from '../integration/wallets/mpesa-subject.ts';
import { shared, sharedClient, sharedConnection, sharedStack } from '../support/shared-stack.ts';
import { sql } from '../support/sql.ts';
import { openCommandLine, sharedCommandLine } from './cli-harness.ts';
import type { Outcome } from './cli-harness.ts';

// No wallets process runs here, so a reported payment stays as the tests set it.

const stack = sharedStack({ facades: 0 });
const database = sharedConnection(() => stack.databaseUrl);
const reports = sharedClient(stack, PayerPaymentService, 'wallets');
const cli = sharedCommandLine(stack);
const simulator = shared(() => startMpesaSimulator(mpesaDaraja));

/** Reports a payment as a wallets process does. Gives its id. */
async function report(transaction: string, status = 'OPEN'): Promise<string> {
  const { payerPayment } = await reports.reportPayerPayment({
    wallet: 'walleta',
    environment: Environment.SANDBOX,
    paymentOption: 'walleta_ussd',
    providerTransactionId: transaction,
    reference: `ORDER-${transaction}`,
    payee: '174379',
    amount: '250',
    currency: 'ETB',
  });
  await database.query(sql`
    update core.payer_payments set status = ${status}, due_at = case when ${status} = 'OPEN' then now() end
    where provider_transaction_id = ${transaction}`);
  return payerPayment?.payerPaymentId ?? '';
}

describe('payment payer-started and payment confirm', () => {
  test('list payments, and query the wallet about undecided ones', async () => {
    const decided = await report('PAID000001', 'NO_PAYMENT');
    const abandoned = await report('LATE000001', 'ABANDONED');

    const listed = await cli.run('payment', 'payer-started', '--wallet', 'walleta');
    const filtered = await cli.json('payment', 'payer-started', '--status', 'abandoned', '-e', 'sandbox');
    const doctor = await cli.run('doctor');
    const asked = await cli.run('payment', 'confirm', abandoned);
    const open = await cli.json('payment', 'payer-started', '--status', 'open');
    const notAsked = await cli.run('payment', 'confirm', decided);

    expect(listed).toMatchObject({ exitCode: 0, stderr: '' });
    expect(listed.stdout).toMatch(/no_payment +ORDER-PAID000001 +250 ETB/);
    expect(listed.stdout).toContain('The wallet did not confirm 1 of them in time.');
    expect(filtered).toMatchObject({
      payer_payments: [{ payer_payment_id: abandoned, status: 'abandoned', amount: '250' }],
    });
    expect(doctor.stdout.replaceAll(/\s+/g, ' ')).toContain(
      `warn payer-started 1 payer-started payment was not confirmed by the wallet within three days; ${abandoned} at walleta`,
    );
    expect(doctor.stdout).toMatch(/gatehouse payment payer-started --status abandoned$/m);
    expect(asked).toMatchObject({ exitCode: 0, stderr: '' });
    expect(asked.stdout).toMatch(/ +open +/);
    expect(asked.stdout).toContain('The wallet is queried now.');
    const [reopened] = open['payer_payments'] as { create_time: string; update_time: string }[];
    expect(reopened?.update_time).toBe(reopened?.create_time);
    expect(notAsked.stdout).toContain('This payment is decided already, so the wallet is not queried.');
    expect((await cli.run('doctor')).stdout).not.toContain('payer-started');
  });

  test.each<[readonly string[], number, string]>([
    [
      ['confirm', 'ppm_00000000000000000000000000'],
      3,
      'there is no payer-started payment ppm_00000000000000000000000000\nto list payer-started payments: gatehouse payment payer-started',
    ],
    [['confirm', 'ord_00000000000000000000000000'], 2, 'payer_payment_id'],
    [['confirm'], 2, "missing required argument 'payer_payment_id'"],
    [['payer-started', '--status', 'lost'], 2, 'abandoned'],
    [['payer-started', '--limit', '0'], 2, '--limit'],
  ])('payment %j exits with code %i', async (args, exitCode, problem) => {
    const refused = await cli.run('payment', ...args);

    expect([refused.exitCode, refused.stdout]).toEqual([exitCode, '']);
    expect(refused.stderr.toLowerCase()).toContain(problem);
  });

  test('payment payer-started reports that there are no such payments', async () => {
    expect((await cli.run('payment', 'payer-started', '--wallet', 'walletb')).stdout).toBe(
      'No payer-started payments match.\n',
    );
  });
});

describe('wallet register-urls', () => {
  const callbacks = {
    GATEHOUSE_WALLET_CALLBACK_KEY: 'ab'.repeat(32),
    GATEHOUSE_WALLET_CALLBACK_BASE_URL: 'https://pay.shop.example/',
  };
  const secret = (name: string) => ({ secret: name });

  /** Runs the command for an M-Pesa with these differences. */
  async function registerAt(
    {
      payer_started = {},
      production,
      ...own
    }: {
      readonly settings?: object;
      readonly payer_started?: object | null;
      readonly production?: object;
    },
    variables: Readonly<Record<string, string>> = callbacks,
    wallet = 'mpesa',
  ): Promise<Outcome> {
    const settings = {
      ...credentials,
      base_url: simulator.baseUrl,
      certificate_pem: certificate,
      consumer_secret: secret('MPESA_CONSUMER_SECRET'),
      passkey: secret('MPESA_PASSKEY'),
      initiator_password: secret('MPESA_INITIATOR_PASSWORD'),
    };
    const mpesa = {
      id: 'mpesa',
      names: { en: 'M-Pesa', am: 'ኤም-ፔሳ' },
      connector: 'mpesa-daraja',
      channels: ['ussd'],
      currencies: [{ code: 'KES', decimals: 0 }],
      environments: {
        sandbox: {
          ...(payer_started === null ? {} : { payer_started }),
          settings: { ...settings, ...own.settings },
        },
        ...(production === undefined ? {} : { production: { ...production, settings } }),
      },
    };
    const operator = await openCommandLine({
      GATEHOUSE_WALLETS: JSON.stringify({ wallets: [mpesa] }),
      MPESA_CONSUMER_SECRET: credentials.consumer_secret,
      MPESA_PASSKEY: credentials.passkey,
      MPESA_INITIATOR_PASSWORD: credentials.initiator_password,
      ...variables,
    });
    const outcome = await operator.run('wallet', 'register-urls', wallet);
    await operator.stop();
    return outcome;
  }

  test('registers the URLs and prints them, with a warning about their secrets', async () => {
    const { exitCode, stdout, stderr } = await registerAt({});

    expect([exitCode, stderr]).toEqual([0, '']);
    expect(stdout).toContain('mpesa SANDBOX: the provider registered the URLs');
    expect(stdout).toMatch(
      /^ {2}validation +https:\/\/pay\.shop\.example\/callbacks\/mpesa-sandbox\/validation\/\S{20,}$/m,
    );
    expect(stdout).toMatch(
      /^ {2}confirmation +https:\/\/pay\.shop\.example\/callbacks\/mpesa-sandbox\/confirmation\/\S{20,}$/m,
    );
    expect(stdout).toContain('The URLs contain secrets. Give them only to the provider.');
  });

  test('shows why the provider refuses, and exits with code 4', async () => {
    const { exitCode, stdout } = await registerAt({ settings: { short_code: '999999' } });

    expect(exitCode).toBe(4);
    expect(stdout).toContain('the provider refuses the URLs: 400.002.02 Bad Request - Invalid ShortCode');
  });

  test('reports an unreachable provider, and exits with code 5', async () => {
    const { exitCode, stdout } = await registerAt({ settings: { base_url: 'http://127.0.0.1:1' } });

    expect(exitCode).toBe(5);
    expect(stdout).toContain('run this command again');
  });

  test('says which environment lacks payer_started, and exits with code 0 when another one was registered', async () => {
    const { exitCode, stdout } = await registerAt({ production: {} });

    expect(stdout).toContain('mpesa SANDBOX: the provider registered the URLs');
    expect(stdout).toContain('mpesa PRODUCTION: add payer_started');
    expect(exitCode).toBe(0);
  });

  test('exits with code 2 for a wallet without payer_started', async () => {
    const { exitCode, stdout } = await registerAt({ payer_started: null });

    expect(exitCode).toBe(2);
    expect(stdout).toContain('add payer_started to this environment in GATEHOUSE_WALLETS_FILE first');
    expect(stdout).not.toContain('secrets');
  });

  test.each<[string, Readonly<Record<string, string>>, string, number, string]>([
    ['the callback key', {}, 'mpesa', 2, 'GATEHOUSE_WALLET_CALLBACK_KEY'],
    ['the public URL', {}, 'mpesa', 2, 'BASE_URL is not set: the same public URL as for the wallets process'],
    ['a wallet that is configured', callbacks, 'walleta', 3, 'configures no wallet "walleta"'],
  ])('needs %s', async (_what, variables, wallet, exitCode, problem) => {
    const refused = await registerAt({}, variables, wallet);

    expect(refused).toMatchObject({ exitCode, stderr: expect.stringContaining(problem) });
  });
});
