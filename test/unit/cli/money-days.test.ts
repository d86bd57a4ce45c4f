import { create } from '@bufbuild/protobuf';
import { expect, test } from '@jest/globals';
import { showMoneyDays } from '../../../src/cli/money-days-command.ts';
import { MoneyDaySchema } from '../../../src/gen/gatehouse/v1/reconciliation_service_pb.js';

const now = new Date('2026-03-10T00:30:00Z');
const balanceOf = (date: string, difference: string) =>
  create(MoneyDaySchema, { date, difference, wallet: 'walleta', currency: 'ETB' });

test.each([
  ['nothing', [], 0],
  ['an ended day that balances', [balanceOf('2026-03-09', '0')], 0],
  ['an ended day with a difference', [balanceOf('2026-03-09', '-5')], 1],
  ['the running day with a difference', [balanceOf('2026-03-10', '-5')], 0],
  ['both with a difference', [balanceOf('2026-03-10', '-5'), balanceOf('2026-03-09', '7')], 1],
])('the exit code for %s', (_, days, exitCode) => {
  expect(showMoneyDays(days, now).exitCode).toBe(exitCode);
});

test('only the running day is provisional, and its difference is shown like any other', () => {
  const { text, json } = showMoneyDays([balanceOf('2026-03-10', '-5'), balanceOf('2026-03-09', '0')], now);
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
