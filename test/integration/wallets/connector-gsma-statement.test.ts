import { expect, test } from '@jest/globals';
import { StatementError } from '../../../src/wallets/connector/statement-error.ts';
import type { StatementPage } from '../../../src/wallets/connector/wallet-connector.ts';
import { readStatement } from './connector-conformance.ts';
import { attemptId, routes, transaction, gsmaOfEachTest } from './gsma-subject.ts';
import type { Behaviour } from './scripted-wallet.ts';
import { json } from './scripted-wallet.ts';

const period = { from: new Date('2026-01-01T00:00:00.000Z'), to: new Date('2026-01-01T23:59:59.999Z') };

const subject = gsmaOfEachTest();

const rows = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, index) =>
    transaction({ transactionReference: `REF-${from + index}` }),
  );

/** A wallet with this many transactions, which returns at most `cap` of them at once. */
const account =
  (available: number, cap: number, counts: boolean): Behaviour =>
  (reply) => {
    const query = new URL(reply.request.target, 'http://wallet').searchParams;
    const offset = Number(query.get('offset'));
    const page = rows(offset, Math.min(offset + Math.min(Number(query.get('limit')), cap), available));
    const headers = {
      'x-records-available-count': String(available),
      'x-records-returned-count': String(page.length),
    };
    json(200, page, counts ? headers : {})(reply);
  };

const read = () => readStatement(subject.connector, period);

const idsOf = (pages: readonly StatementPage[]) =>
  pages.flatMap(({ entries }) => entries.map(({ providerTransactionId }) => providerTransactionId));

test.each([
  ['that states the number of entries', 120, 50, true],
  ['that states no number of entries', 120, 50, false],
  ['that returns fewer entries than requested', 45, 20, true],
  ['that returns fewer entries than requested and states no number', 45, 20, false],
  ['that has exactly one page', 50, 50, true],
  ['that has no entries', 0, 50, true],
  ['that has no entries and states no number', 0, 50, false],
])('the whole statement of a wallet %s is read', async (_what, available, cap, counts) => {
  subject.wallet.on(routes.statement, account(available, cap, counts));

  const pages = await read();

  expect(idsOf(pages)).toEqual(rows(0, available).map((row) => row.transactionReference));
});

test('a statement is requested for its period, one page after the other', async () => {
  subject.wallet.on(routes.statement, account(60, 50, true));

  await read();

  const targets = subject.wallet.requestsTo(routes.statement).map(({ target }) => target.split('?')[1]);
  const asked = 'fromDateTime=2026-01-01T00%3A00%3A00.000Z&toDateTime=2026-01-01T23%3A59%3A59.999Z';
  expect(targets).toEqual([`limit=50&offset=0&${asked}`, `limit=50&offset=50&${asked}`]);
});

test('an entry has the fields that reconciliation needs', async () => {
  subject.wallet.on(
    routes.statement,
    json(
      200,
      [
        transaction({ amount: '100.50', fees: [{ feeType: 'levy', feeAmount: '1.00', feeCurrency: 'ETB' }] }),
        transaction({
          type: 'reversal',
          originalTransactionReference: 'REF-1',
          transactionStatus: 'Reversed',
        }),
        transaction({
          type: 'deposit',
          transactionStatus: 'odd',
          requestingOrganisationTransactionReference: '',
          creationDate: 'today',
        }),
      ],
      { 'x-records-available-count': '3' },
    ),
  );

  const [page] = await read();

  const occurredAt = new Date('2026-01-01T08:00:03.000Z');
  const common = { providerTransactionId: 'REF-1', amount: '100.5', currency: 'ETB', fees: [] };
  expect(page!.entries).toEqual([
    {
      ...common,
      type: 'payment',
      status: 'completed',
      requestId: attemptId,
      occurredAt,
      fees: [{ amount: '1', currency: 'ETB' }],
    },
    {
      ...common,
      type: 'reversal',
      status: 'reversed',
      requestId: attemptId,
      occurredAt,
      originalTransactionId: 'REF-1',
    },
    { ...common, type: 'other', status: 'other' },
  ]);
});

test('an unreadable entry is reported by its position and transaction, and the other entries are read', async () => {
  const page = [
    ...rows(0, 2),
    transaction({ transactionReference: 'REF-2', amount: '-100.50' }),
    'what',
    ...rows(4, 5),
  ];
  subject.wallet.on(routes.statement, json(200, page, { 'x-records-available-count': '5' }));

  const [read1] = await read();

  expect(read1!.entries).toHaveLength(3);
  expect(read1!.unreadable.map(({ position }) => position)).toEqual([2, 3]);
  expect(read1!.unreadable[0]!.why).toMatch(/^transaction REF-2, \/amount: /);
});

test('a statement without a number of entries ends with an error if the wallet ignores the offset', async () => {
  subject.wallet.on(routes.statement, json(200, rows(0, 50)));

  await expect(read()).rejects.toMatchObject({
    reason: { why: 'inconsistent', detail: 'the wallet repeats entries and ignores the offset 50' },
  });
  expect(subject.wallet.requestsTo(routes.statement)).toHaveLength(2);
});

test('entries that new ones move to the next pages are read once, even a whole page, and positions count what was read', async () => {
  const counts = (available: number) => ({ 'x-records-available-count': String(available) });
  subject.wallet.on(
    routes.statement,
    json(200, ['what', ...rows(0, 49)], counts(51)),
    json(200, rows(0, 49), counts(102)),
    json(200, ['what', ...rows(48, 50)], counts(102)),
  );

  const pages = await read();

  expect(idsOf(pages)).toEqual(rows(0, 50).map((row) => row.transactionReference));
  expect(pages.flatMap(({ unreadable }) => unreadable.map(({ position }) => position))).toEqual([0, 50]);
});

const stating = (available: number, from: number, to: number) =>
  json(200, rows(from, to), { 'x-records-available-count': String(available) });
const returning = (count: number, from: number, to: number) =>
  json(200, rows(from, to), { 'x-records-returned-count': String(count) });
const changed = transaction({ transactionReference: 'REF-4', transactionStatus: 'Reversed' });

test.each([
  ['stops before the number of entries that it stated', [stating(9, 0, 5), json(200, [])], 5],
  ['returns another number of entries than it states', [returning(6, 0, 5)], 0],
  ['loses entries between two pages', [stating(9, 0, 5), stating(8, 6, 9)], 5],
  ['changes an entry between two pages', [json(200, rows(0, 5)), json(200, [changed])], 5],
  ['fails at the second page', [json(200, rows(0, 5)), json(500, {})], 5],
  ['answers with another status than 200', [json(202, rows(0, 5))], 0],
  ['sends no list', [json(200, { transactions: [] })], 0],
] as const)(
  'a wallet that %s gives no complete statement, and the error follows the entries',
  async (_what, behaviours, given) => {
    const [first, ...others] = behaviours;
    subject.wallet.on(routes.statement, first, ...others);
    const seen: string[] = [];

    const { signal } = new AbortController();
    const reading = (async () => {
      for await (const page of subject.connector.statement(period, { signal })) seen.push(...idsOf([page]));
    })();

    await expect(reading).rejects.toBeInstanceOf(StatementError);
    expect(seen).toHaveLength(given);
  },
);

test.each([
  [
    'stops before the number of entries that it stated',
    [stating(9, 0, 5), json(200, [])],
    'the wallet announced 9 entries, and returned none after the first 5',
  ],
  [
    'returns another number of entries than it states',
    [returning(6, 0, 5)],
    'the wallet announced 6 entries on a page, and returned 5',
  ],
  [
    'loses entries between two pages',
    [stating(9, 0, 5), stating(8, 6, 9)],
    'the number of entries fell from 9 to 8 while the statement was read',
  ],
] as const)('the error of a wallet that %s names both numbers', async (_what, behaviours, detail) => {
  const [first, ...others] = behaviours;
  subject.wallet.on(routes.statement, first, ...others);

  await expect(read()).rejects.toMatchObject({ reason: { detail } });
});

test('a page of up to a megabyte is read', async () => {
  const long = rows(0, 50).map((row) => ({ ...row, descriptionText: 'x'.repeat(18_000) }));
  subject.wallet.on(routes.statement, json(200, long, { 'x-records-available-count': '50' }));

  expect(idsOf(await read())).toHaveLength(50);
});

test('no further page is requested when the reader stops', async () => {
  subject.wallet.on(routes.statement, account(500, 50, true));

  for await (const page of subject.connector.statement(period, { signal: new AbortController().signal })) {
    expect(page.entries).toHaveLength(50);
    break;
  }

  expect(subject.wallet.requestsTo(routes.statement)).toHaveLength(1);
});
