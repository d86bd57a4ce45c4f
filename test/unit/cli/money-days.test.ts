import { create } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { createClient, createRouterTransport } from '@connectrpc/connect';
import { expect, test } from '@jest/globals';
import { Command } from 'commander';
import { addMoneyDaysCommand, showMoneyDays } from '../../../src/cli/money-days-command.ts';
import type { CoreClients } from '../../../src/cli/core-clients.ts';
import type { Output } from '../../../src/cli/output.ts';
import {
  MissingMoneyDayReason,
  MissingMoneyDaySchema,
  MoneyDayCorrectionSchema,
  MoneyDaySchema,
  ReconciliationService,
} from '../../../src/gen/gatehouse/v1/reconciliation_service_pb.js';
import type { MoneyDay } from '../../../src/gen/gatehouse/v1/reconciliation_service_pb.js';

const now = new Date('2026-03-10T00:30:00Z');
const balanceOf = (date: string, difference: string) =>
  create(MoneyDaySchema, { date, difference, wallet: 'walleta', currency: 'ETB' });

const pageOf = (items: readonly MoneyDay[]) => ({ items, nextPageToken: '' });

test.each([
  ['nothing', [], 0],
  ['an ended day that balances', [balanceOf('2026-03-09', '0')], 0],
  ['an ended day with a difference', [balanceOf('2026-03-09', '-5')], 1],
  ['the running day with a difference', [balanceOf('2026-03-10', '-5')], 0],
  [
    'an ended day and the running day with differences',
    [balanceOf('2026-03-10', '-5'), balanceOf('2026-03-09', '7')],
    1,
  ],
])('%s gives the documented exit code', (_, days, exitCode) => {
  expect(showMoneyDays(pageOf(days), [], now).exitCode).toBe(exitCode);
});

test.each([
  ['a difference on the next page', [balanceOf('2026-03-09', '0'), balanceOf('2026-03-08', '7')], [], 1],
  ['only balances on the next page', [balanceOf('2026-03-09', '0'), balanceOf('2026-03-08', '0')], [], 0],
  ['a difference on the page before', [balanceOf('2026-03-09', '7'), balanceOf('2026-03-08', '0')], ['1'], 1],
  [
    'only the running day on the page before',
    [balanceOf('2026-03-10', '7'), balanceOf('2026-03-08', '0')],
    ['1'],
    0,
  ],
  ['an unreadable statement, named on the first page', [balanceOf('2026-03-08', '0')], ['0'], 1],
])('a list of one page reports %s in its exit code', async (_, days, [pageToken], exitCode) => {
  const paging = pageToken === undefined ? [] : ['--page-token', pageToken];

  const shown = await listedDays(days, ['--limit', '1', ...paging], pageToken === '0');

  expect(shown.exitCode).toBe(exitCode);
});

test.each([
  ['--unbalanced', 'No balance has a difference.'],
  ['--corrected', 'No balance was corrected.'],
])('days %s says that none is listed because of the filter', async (option, text) => {
  expect(await listedDays([balanceOf('2026-03-09', '0')], [option])).toMatchObject({ text, exitCode: 0 });
});

/** What `reconcile days` shows of these days. `isUnreadable`: whether the first page names an unreadable statement. */
async function listedDays(days: readonly MoneyDay[], options: readonly string[], isUnreadable = false) {
  const transport = createRouterTransport(({ rpc }) =>
    rpc(ReconciliationService.method.listMoneyDays, (request) => {
      const matching = days.filter(
        ({ difference, corrections }) =>
          (!request.onlyDifferent || difference !== '0') &&
          (!request.onlyCorrected || corrections.length > 0),
      );
      const from = Number(request.pageToken);
      const end = from + request.pageSize;
      return {
        days: matching.slice(from, end),
        nextPageToken: end < matching.length ? String(end) : '',
        missing:
          request.pageToken === '' && isUnreadable ? [{ reason: MissingMoneyDayReason.UNREADABLE }] : [],
      };
    }),
  );
  const reconciliations = createClient(ReconciliationService, transport);
  const shown: Output[] = [];
  const reconcile = new Command();
  addMoneyDaysCommand(
    reconcile,
    async (use) => void shown.push(await use({ reconciliations } as CoreClients)),
    () => now,
  );
  await reconcile.parseAsync(['days', ...options], { from: 'user' });
  const [{ text, exitCode } = { text: '' }] = shown;
  return { text: typeof text === 'string' ? text : text(200), exitCode };
}

test('only the running day is provisional, and its difference is shown like any other', () => {
  const { text, json } = showMoneyDays(
    pageOf([balanceOf('2026-03-10', '-5'), balanceOf('2026-03-09', '0')]),
    [],
    now,
  );
  const shown = typeof text === 'string' ? text : text(100);

  expect(shown.match(/provisional/g)).toHaveLength(1);
  expect(shown).toContain('-5 ETB');
  expect(shown).toContain('gatehouse reconcile show');
  expect(json).toMatchObject({
    days: [
      { date: '2026-03-10', provisional: true },
      { date: '2026-03-09', provisional: false },
    ],
  });
});

test('corrections are listed below the balances, with the sums before the correction', () => {
  const day = balanceOf('2026-03-09', '0');
  const corrections = [
    create(MoneyDayCorrectionSchema, {
      correctTime: timestampFromDate(new Date('2026-03-12T08:00:00Z')),
      difference: '-60',
      statementIn: '199.5',
      reconciliationId: 'rec_1',
    }),
  ];
  const { text, exitCode } = showMoneyDays(pageOf([{ ...day, corrections }]), [], now);
  const shown = (typeof text === 'string' ? text : text(300)).split('Corrections of ended days:')[1];

  expect(shown).toMatch(
    /2026-03-09 +walleta +none +ETB +2026-03-12T08:00:00Z +in 199\.5,.*difference -60 +rec_1/,
  );
  expect(exitCode).toBe(0);
});

test('days and corrections name their currency, because one wallet can have several', () => {
  const corrections = [create(MoneyDayCorrectionSchema, { statementIn: '5' })];
  const days = ['JPY', 'KWD'].map((currency) => ({ ...balanceOf('2026-03-09', '0'), currency, corrections }));

  const { text } = showMoneyDays(pageOf(days), [], now);
  const [balances = '', corrected = ''] = (typeof text === 'string' ? text : text(300)).split(
    'Corrections of ended days:',
  );

  for (const list of [balances, corrected]) {
    expect(list).toMatch(/walleta.* JPY /);
    expect(list).toMatch(/walleta.* KWD /);
  }
});

test.each([
  [MissingMoneyDayReason.NO_STATEMENT, '', 'cannot read statements of this wallet', 0],
  [MissingMoneyDayReason.WAITING, '', 'was not read yet', 0],
  [MissingMoneyDayReason.UNREADABLE, 'HTTP 403', 'could not be read: HTTP 403', 1],
  [MissingMoneyDayReason.ACCOUNT_REMOVED, '', 'own account was removed', 0],
])('a day without a balance is listed with its reason: %s', (reason, detail, words, exitCode) => {
  const missing = create(MissingMoneyDaySchema, { date: '2026-03-08', wallet: 'walleta', reason, detail });
  const shown = showMoneyDays(pageOf([]), [missing], now);
  const text = (typeof shown.text === 'string' ? shown.text : shown.text(200)).replaceAll(/\s+/g, ' ');

  expect(text).toContain('2026-03-08');
  expect(text).toContain(words);
  expect(text.includes('gatehouse reconcile --wallet <wallet> --environment <environment> --day <day>')).toBe(
    exitCode === 1,
  );
  expect(shown.exitCode).toBe(exitCode);
});
