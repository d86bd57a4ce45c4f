import { beforeAll, describe, expect, test } from '@jest/globals';
import { storedId } from '../support/ids.ts';
import { callSandbox } from '../support/sandbox-calls.ts';
import { sharedConnection, sharedMerchant, sharedStack } from '../support/shared-stack.ts';
import { waitUntil } from '../support/wait-until.ts';
import { sql } from '../support/sql.ts';
import { sharedCommandLine, widthOf } from './cli-harness.ts';

const stack = sharedStack({ wallets: 1 });
const merchant = sharedMerchant(stack);
const cli = sharedCommandLine(stack);
const database = sharedConnection(() => stack.databaseUrl);

beforeAll(async () => {
  await Promise.all(['00', '01', '19', '22', '24', '25'].map(pay));
});

interface Attempt {
  readonly payment_attempt_id: string;
  readonly phone: string;
  readonly status: string;
  readonly update_time: string;
}

interface Stray {
  readonly stray_payment_id: string;
  readonly update_time: string;
  readonly refusal_reason: string;
}

/** Pays with one of the numbers whose outcome is fixed, and waits until the order is decided. */
async function pay(outcome: string): Promise<void> {
  const order_number = `order-${outcome}`;
  const phone = `+2519000000${outcome}`;
  const order = { order_number, amount: '100.50', currency: 'ETB', phone };
  await callSandbox(stack, merchant, 'direct?payment_option=walleta_ussd', order);
  await waitUntil(`${order_number} is decided`, async () => {
    const { data } = await callSandbox(stack, merchant, 'verify', { order_number });
    return data['status'] !== 'PENDING';
  });
}

async function attemptWith(outcome: string): Promise<Attempt> {
  const { payment_attempts } = await cli.json('payment', 'list', merchant.id);
  return (payment_attempts as Attempt[]).find(({ phone }) => phone.endsWith(outcome))!;
}

/** Makes core believe that the payment was too late, so that it must be reversed. */
async function makeStray(outcome: string): Promise<void> {
  const { payment_attempt_id: id } = await attemptWith(outcome);
  await database.query(sql`
    insert into core.stray_payments (merchant_id, id, environment, order_id, payment_attempt_id, payment_option,
      provider_transaction_id, amount, currency, kind, status, detail, tries, maybe_sent, reversal_id, due_at,
      created_at, updated_at)
    select merchant_id, gen_random_uuid(), environment, order_id, id, payment_option, provider_transaction_id, '100.50',
      'ETB', 'LATE', 'REVERSAL_DUE', '', 0, false, gen_random_uuid(), now(), now(), now()
    from core.payment_attempts where id = ${storedId('pat', id)}`);
}

const strayIn = (status: string, id?: string) =>
  waitUntil(`a stray payment is ${status}`, async () => {
    const { stray_payments } = await cli.json('payment', 'strays', '--status', status);
    return (stray_payments as Stray[]).find(
      ({ stray_payment_id }) => stray_payment_id === (id ?? stray_payment_id),
    );
  });
const refused = () => strayIn('reversal_refused');

async function simulator<T>(list: string, query = ''): Promise<T[]> {
  const response = await fetch(`${stack.simulatorUrl}/simulator/${list}${query}`);
  return ((await response.json()) as Record<string, T[]>)[list] ?? [];
}

describe('payment list and show', () => {
  test('attempts are listed newest first, and by status', async () => {
    const all = await cli.run('payment', 'list', merchant.id);
    const declined = await cli.run('payment', 'list', merchant.id, '--status', 'declined');
    const none = await cli.run('payment', 'list', merchant.id, '-e', 'live');

    expect(all.stdout.match(/pat_[0-9a-z]{26}/g)).toHaveLength(6);
    expect(all.stdout).toContain('insufficient_funds');
    expect(declined.stdout.match(/pat_[0-9a-z]{26}/g)).toHaveLength(2);
    expect(none.stdout).toContain(`No payment attempts match in PRODUCTION, merchant ${merchant.id}`);
    expect(widthOf(all.stdout)).toBeLessThanOrEqual(100);
  });

  test('an attempt is shown with its order and its first and last exchanges, in order', async () => {
    const { payment_attempt_id: id } = await attemptWith('00');

    const { stdout, exitCode } = await cli.run('payment', 'show', merchant.id, id);

    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^Status +succeeded$/m);
    expect(stdout).toMatch(/^Order number +order-00$/m);
    expect(stdout).toMatch(/^Deducted +100\.50 ETB$/m);
    expect(stdout).toMatch(/^ +> +POST http\S+\/walleta\/transactions\/type\/merchantpay$/m);
    expect(stdout.indexOf('initiate')).toBeLessThan(stdout.lastIndexOf('query'));
    expect(widthOf(stdout)).toBeLessThanOrEqual(100);
  });

  test('all exchanges are shown in full on request', async () => {
    const { payment_attempt_id: id } = await attemptWith('00');

    const all = await cli.run('payment', 'show', merchant.id, id, '--exchanges', 'all');
    const some = await cli.run('payment', 'show', merchant.id, id, '--exchanges', 'some');

    const usual = await cli.run('payment', 'show', merchant.id, id);
    const lastOfBody = '"modificationDate"';
    expect(usual.stdout.replace(/\s/g, '')).not.toContain(lastOfBody);
    expect(all.stdout.replace(/\s/g, '')).toContain(lastOfBody);
    expect(some).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('ends, all') });
  });

  test('--json has each exchange, with its secrets and phones masked', async () => {
    const { payment_attempt_id: id } = await attemptWith('00');

    const shown = await cli.json('payment', 'show', merchant.id, id);

    expect(shown).toMatchObject({
      payment_attempt_id: id,
      status: 'succeeded',
      detail: null,
      due_time: null,
      order: { order_number: 'order-00', status: 'completed' },
      exchanges: expect.arrayContaining([
        expect.objectContaining({ purpose: 'initiate', method: 'POST', status: 202 }),
      ]),
    });
    expect(JSON.stringify(shown['exchanges'])).not.toContain('251900000000');
  });

  test('an attempt of which the wallet says something unknown is shown with the reason', async () => {
    const other = await stack.createMerchant();
    const order = { order_number: 'order-09', amount: '100.50', currency: 'ETB', phone: '+251900000009' };
    await callSandbox(stack, other, 'direct?payment_option=walleta_ussd', order);
    const [attempt] = await waitUntil('the attempt is unknown', async () => {
      const listed = await cli.json('payment', 'list', other.id, '--status', 'unknown');
      const attempts = listed['payment_attempts'] as Attempt[];
      return attempts.length > 0 && attempts;
    });

    const { stdout } = await cli.run('payment', 'show', other.id, attempt!.payment_attempt_id);

    expect(stdout).toMatch(/^Undecided because +the request's status is "underReview"$/m);
    expect(await cli.json('payment', 'show', other.id, attempt!.payment_attempt_id)).toMatchObject({
      detail: expect.stringContaining('underReview'),
    });
    for (const command of ['show', 'explain'])
      expect((await cli.run('order', command, other.id, 'order-09')).stdout).toContain('"underReview"');
  });

  test('an order is found by the transaction or phone that its customer reports', async () => {
    const { payment_attempt_id: id } = await attemptWith('00');
    const { provider_transaction_id: transaction } = await cli.json('payment', 'show', merchant.id, id);
    const found = { order_number: 'order-00', merchant_id: merchant.id, environment: 'sandbox' };

    expect(await cli.json('order', 'find', String(transaction))).toMatchObject({
      orders: [{ ...found, provider_transaction_id: transaction, payer_phone: '+251900000000' }],
    });
    expect((await cli.run('order', 'find', '0900000000')).stdout).toContain(merchant.id);
    expect((await cli.run('order', 'find', 'no-such')).stdout).toMatch(/^No orders match/);
  });

  test('an unknown attempt exits with code 3 and names the command that lists attempts', async () => {
    const id = 'pat_01m7xjbb99evv8hx2dqm5r8qgn';

    const { exitCode, stderr } = await cli.run('payment', 'show', merchant.id, id);

    expect(exitCode).toBe(3);
    expect(stderr).toContain('payment list <merchant_id>');
  });

  test('an unknown status exits with code 2 and names the valid ones', async () => {
    const { exitCode, stderr } = await cli.run('payment', 'list', merchant.id, '--status', 'lost');

    expect(exitCode).toBe(2);
    expect(stderr).toContain('Use one of: requested, sent, unknown, succeeded, declined, timed_out.');
  });
});

describe('stray payments', () => {
  test('are listed, reported by doctor, and tried again', async () => {
    await makeStray('22');
    const { stray_payment_id: id, update_time: before } = await refused();

    const listed = await cli.run('payment', 'strays', '--merchant', merchant.id, '-e', 'sandbox');
    const doctor = await cli.run('doctor');
    const retried = await cli.run('payment', 'retry-reversal', merchant.id, id);

    expect(listed.stdout).toContain('reversal_refused');
    expect(listed.stdout).toContain('payment retry-reversal <merchant_id> <stray_payment_id>');
    expect(listed.stdout).toContain('wrong_amount');
    expect(widthOf(listed.stdout)).toBeLessThanOrEqual(100);
    expect(doctor.stdout).toMatch(/warn +stray payments +1 refused reversal/);
    expect(retried).toMatchObject({ exitCode: 0, stderr: '' });
    expect(retried.stdout).toMatch(/^Status +reversal_due$/m);
    expect(
      (
        await waitUntil('it is refused anew', async () => {
          const found = await refused();
          return found.update_time > before && found;
        })
      ).stray_payment_id,
    ).toBe(id);
    await database.query("delete from core.stray_payments where kind = 'LATE'");
  });

  test('are shown with the order that could not accept them, and the command that shows more', async () => {
    const shown = await cli.run('order', 'show', merchant.id, 'order-19');
    const [id = ''] = /stp_[0-9a-z]{26}/.exec(shown.stdout) ?? [];
    const [, orderId = ''] = /payment strays --order (ord_[0-9a-z]{26})$/m.exec(shown.stdout) ?? [];
    const listed = await cli.run('payment', 'strays', '--order', orderId);
    const paid = await cli.run('order', 'show', merchant.id, 'order-00');
    const json = await cli.json('order', 'show', merchant.id, 'order-19');

    expect(shown.stdout).toContain('wrong_amount');
    expect(shown.stdout).toMatch(/^stp_\w+ +revers\w+ +wrong_amount +101\.5 ETB .*\npat_\w+$/m);
    expect(widthOf(shown.stdout)).toBeLessThanOrEqual(100);
    expect(listed.stdout.match(/stp_[0-9a-z]{26}/g)).toEqual([id]);
    expect(paid.stdout).not.toContain('Stray payments of the order');
    expect(json['stray_payments']).toMatchObject([{ stray_payment_id: id, kind: 'wrong_amount' }]);
  });
});

describe('reconcile', () => {
  const dayOfPayments = async (): Promise<string> => (await attemptWith('24')).update_time.slice(0, 10);

  test('reports missing and differing entries of the statement, and exits with code 1', async () => {
    await waitUntil('the stray payment went back', async () => {
      const { stray_payments } = await cli.json('payment', 'strays', '--status', 'reversed');
      return (stray_payments as unknown[]).length === 1;
    });

    const { exitCode, stdout, stderr } = await cli.run(
      ...['reconcile', '--wallet', 'walleta', '--environment', 'sandbox', '--day', await dayOfPayments()],
    );

    expect(exitCode).toBe(1);
    expect(stderr).toContain('Comparing walleta in SANDBOX on ');
    expect(stdout).toMatch(/^Differences +2$/m);
    expect(stdout).toMatch(/101\.5 ETB +100\.50 ETB +amount_differs: transaction /);
    expect(stdout).toMatch(/nothing +100\.50 ETB +missing_in_statement: transaction /);
    expect(stdout).toContain((await attemptWith('24')).payment_attempt_id);
    expect(stdout).toContain((await attemptWith('25')).payment_attempt_id);
    expect(widthOf(stdout)).toBeLessThanOrEqual(100);
  });

  test('a day without payments on both sides exits with code 0', async () => {
    const { exitCode, stdout } = await cli.run('reconcile', '--wallet', 'walletb', '--day', '2025-06-01');

    expect(exitCode).toBe(0);
    expect(stdout).toContain('The statement and the records agree.');
  });

  test('finds money that Gatehouse did not request, and --json prints all of it without progress lines', async () => {
    const { exitCode, stdout, stderr } = await cli.run(
      ...['reconcile', '--wallet', 'walleta', '--day', '2024-01-05', '--json'],
    );

    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: '' });
    expect(JSON.parse(stdout)).toMatchObject({
      wallet: 'walleta',
      environment: 'sandbox',
      date: '2024-01-05',
      status: 'completed',
      differences: 1,
      difference_list: [{ kind: 'missing_here', wallet_amount: '104', advice: expect.any(String) }],
    });
  });

  test('reconciliations are listed and shown, and doctor reports their differences', async () => {
    const { reconciliations } = await cli.json('reconcile', 'list', '--wallet', 'walleta');
    const [latest] = reconciliations as { reconciliation_id: string; differences: number }[];

    const listed = await cli.run('reconcile', 'list');
    const shown = await cli.run('reconcile', 'show', latest!.reconciliation_id);
    const doctor = await cli.run('doctor');

    expect(listed.stdout).toContain(latest!.reconciliation_id);
    expect(widthOf(listed.stdout)).toBeLessThanOrEqual(100);
    expect(shown).toMatchObject({ exitCode: 0 });
    expect(shown.stdout).toContain('missing_here');
    expect(doctor.stdout).toMatch(/warn +reconciliation +in the last 7 days: \d with differences/);
  });

  test('a wallet without a process is reported, and its reconciliation stays due', async () => {
    const { exitCode, stderr } = await cli.run(
      ...['reconcile', '--wallet', 'walleta', '-e', 'live', '--day', '2025-06-01', '--timeout', '1s'],
    );

    expect(exitCode).toBe(5);
    expect(stderr).toContain('no process has read the statement for 1 s');
    expect(stderr.replace(/\s+/g, ' ')).toContain(
      'with walleta in PRODUCTION in its GATEHOUSE_WALLETS_FILE.',
    );
    expect((await cli.run('doctor')).stdout).toMatch(
      /warn +wallet requests +no wallets process reports about walleta in production/,
    );
  });

  test.each([
    [['reconcile'], '--wallet'],
    [['reconcile', '--wallet', 'walletc'], 'must be one of walleta, walletb'],
    [['reconcile', '--wallet', 'walleta', '--day', '31.12.2025'], 'Write it as 2026-01-31'],
    // The former name of the option.
    [['reconcile', '--wallet', 'walleta', '--date', '2098-01-01'], 'day: must not be in the future'],
    [['reconcile', 'show', 'rec_1'], 'must be an id of the form rec_'],
  ])('%j is invalid: exit code 2', async (args, said) => {
    const { exitCode, stderr } = await cli.run(...args);

    expect(exitCode).toBe(2);
    expect(stderr).toContain(said);
  });
});

test('a reversal that was accepted and then failed succeeds exactly once when it is retried', async () => {
  await pay('26');
  await makeStray('26');
  const { stray_payment_id: id, refusal_reason } = await refused();
  const charges = () => simulator<{ reversed: string }>('charges', '?payer=%2B251900000026');
  const before = await charges();

  const retried = await cli.run('payment', 'retry-reversal', merchant.id, id);
  const early = await cli.run('payment', 'retry-reversal', merchant.id, id);
  await strayIn('reversed', id);
  const late = await cli.run('payment', 'retry-reversal', merchant.id, id);

  expect(refusal_reason).toBe('insufficient_funds');
  expect(before).toMatchObject([{ reversed: '0' }]);
  expect(retried).toMatchObject({ exitCode: 0, stderr: '' });
  expect([early.exitCode, late.exitCode]).toEqual([4, 4]);
  expect(late.stderr).toContain('this reversal has succeeded');
  expect(await charges()).toMatchObject([{ amount: '100.5', reversed: '100.5' }]);
  const requests =
    await simulator<Record<'kind' | 'subject' | 'correlation_id' | 'answer', string>>('requests');
  const [latest, ...earlier] = requests.filter(({ kind }) => kind === 'reversal');
  const reversals = [latest!, ...earlier.filter(({ subject }) => subject === latest?.subject)];
  expect(reversals.map(({ answer }) => answer)).toEqual(['accepted', 'accepted']);
  expect(new Set(reversals.map(({ correlation_id }) => correlation_id)).size).toBe(2);
});
