import { describe, expect, test } from '@jest/globals';
import { errorOf, simulatorOfFile } from './simulator-under-test.ts';
import type { Json } from './simulator-under-test.ts';

/** The tests that pay come last. */
const simulator = simulatorOfFile();

async function list(path: string) {
  const answer = await simulator.call(path);
  return {
    ...answer,
    records: (answer.status === 200 ? JSON.parse(answer.text) : []) as readonly Json[],
    available: answer.headers.get('x-records-available-count'),
    returned: answer.headers.get('x-records-returned-count'),
  };
}

const merchant = '/accounts/accountid/2999';

describe.each(['transactions', 'statemententries'])('%s of an account', (kind) => {
  test('begin with twenty, newest first', async () => {
    const { records, available, returned } = await list(`${merchant}/${kind}`);

    expect([records.length, available, returned]).toEqual([20, '20', '20']);
    expect(records[0]).toMatchObject({ amount: '119', creationDate: '2024-01-20T09:00:00.000Z' });
    expect(records[19]).toMatchObject({ amount: '100', creationDate: '2024-01-01T09:00:00.000Z' });
  });

  test('are listed in pages', async () => {
    const { records, available, returned } = await list(`${merchant}/${kind}?limit=5&offset=10`);

    expect(records.map(({ amount }) => amount)).toEqual(['109', '108', '107', '106', '105']);
    expect([available, returned]).toEqual(['20', '5']);
  });

  test('end with an empty page', async () => {
    const end = await list(`${merchant}/${kind}?offset=20`);
    const beyond = await list(`${merchant}/${kind}?offset=21`);

    expect([end.records, end.available, end.returned]).toEqual([[], '20', '0']);
    expect(errorOf(beyond)).toBe('400 validation invalidOffset');
  });

  test('can be limited to a period, both ends included', async () => {
    const query = 'fromDateTime=2024-01-05T09:00:00Z&toDateTime=2024-01-07T12:00:00%2B03:00';

    const { records } = await list(`${merchant}/${kind}?${query}`);

    expect(records.map(({ amount }) => amount)).toEqual(['106', '105', '104']);
  });

  test.each(['limit=-1', 'limit=many', 'fromDateTime=monday'])('refuse %s', async (query) => {
    expect(errorOf(await list(`${merchant}/${kind}?${query}`))).toBe('400 validation formatError');
  });

  test('of an unknown account get 404', async () => {
    expect(errorOf(await list(`/accounts/accountid/1/${kind}`))).toBe('404 identification identifierError');
  });
});

test('one entry is returned by its reference', async () => {
  expect(await simulator.call('/statemententries/WASEED00000001')).toMatchObject({
    status: 200,
    json: {
      transactionReference: 'WASEED00000001',
      amount: '100',
      currency: 'ETB',
      transactionStatus: 'completed',
      displayType: 'merchantpay',
    },
  });
});

describe('balances', () => {
  test.each([
    `${merchant}/balance`,
    '/accounts/balance',
    '/accounts/organisationid@7$accountid@2999/balance',
  ])('the balance at %s is that of the merchant', async (path) => {
    expect(await simulator.call(path)).toMatchObject({
      status: 200,
      json: { accountStatus: 'available', currentBalance: '2190', availableBalance: '2190', currency: 'ETB' },
    });
  });

  test('a subscriber also has a balance', async () => {
    expect((await simulator.call('/accounts/msisdn/+251911223344/balance')).json['currentBalance']).toBe('0');
  });

  test('an account with an invalid name is refused', async () => {
    expect(errorOf(await simulator.call('/accounts/2999/balance'))).toBe('400 validation formatError');
  });
});

test('all transactions are listed, and statements have those that moved money', async () => {
  await simulator.pay('251900000003');
  await simulator.pay('251900000020');
  simulator.time.pass(1_000);
  const since = 'fromDateTime=2026-01-01T00:00:00Z';

  const transactions = await list(`${merchant}/transactions?${since}`);
  const pending = await list(`${merchant}/transactions?${since}&transactionStatus=pending`);
  const reversals = await list(`${merchant}/transactions?transactionType=reversal`);
  const statement = await list(`${merchant}/statemententries?${since}`);

  expect(transactions.records.map(({ transactionStatus }) => transactionStatus)).toEqual([
    'pending',
    'failed',
  ]);
  expect(pending.records).toHaveLength(1);
  expect(reversals.records).toEqual([]);
  expect(statement.records).toEqual([]);
});

test('both lists have at most fifty entries without a limit', async () => {
  for (let count = 0; count < 31; count++) await simulator.pay('251911223344');
  simulator.time.pass(1_000);

  for (const [kind, count] of [
    ['transactions', '53'],
    ['statemententries', '51'],
  ]) {
    const { available, returned } = await list(`${merchant}/${kind}`);
    expect([kind, available, returned]).toEqual([kind, count, '50']);
  }
});
