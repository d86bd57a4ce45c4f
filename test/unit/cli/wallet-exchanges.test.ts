import { create } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { describe, expect, test } from '@jest/globals';
import { showExchanges } from '../../../src/cli/wallet-exchanges.ts';
import { WalletExchangeSchema } from '../../../src/gen/gatehouse/v1/payment_attempt_service_pb.js';
import type { WalletExchange } from '../../../src/gen/gatehouse/v1/payment_attempt_service_pb.js';

const exchange = (purpose: string, second: number, responseBody = '{}'): WalletExchange =>
  create(WalletExchangeSchema, {
    ...{ purpose, method: 'GET', url: `http://wallet/${second}`, status: 200, responseBody },
    startTime: timestampFromDate(new Date(Date.UTC(2026, 0, 31, 8, 30, second))),
  });

/** The line with which each exchange begins, or that stands for omitted ones. */
const heads = (shown: string): string[] => shown.split('\n').filter((line) => /^\S/.test(line));

const asked = (count: number): WalletExchange[] =>
  Array.from({ length: count }, (_, index) => exchange(index === 0 ? 'initiate' : 'query', index));

describe('the exchanges of a payment', () => {
  test('are all shown while they are few', () => {
    const shown = showExchanges(asked(9), 'ends', 100);

    expect(heads(shown)).toHaveLength(9);
    expect(shown).not.toContain('…');
  });

  test('are reduced to the first and the last when they are many, and the others are counted', () => {
    const many = [...asked(20), exchange('callback', 20), ...asked(6).slice(1)];

    const shown = heads(showExchanges(many, 'ends', 100));

    expect(shown).toHaveLength(3 + 1 + 5);
    expect(shown[0]).toContain('initiate');
    expect(shown[3]).toBe('… 18 more: 17 query, 1 callback');
  });

  test('that are no longer stored are marked, and counted with the omitted ones', () => {
    const kept = [
      ...asked(20),
      create(WalletExchangeSchema, { purpose: 'omitted', omitted: 70 }),
      ...asked(30),
    ];

    expect(heads(showExchanges(kept, 'ends', 100))[3]).toMatch(/^… 112 more: .*70 omitted/);
    expect(showExchanges(kept, 'all', 100)).toContain('… 70 that are no longer stored');
  });

  test('are all shown in full on request', () => {
    const shown = showExchanges([...asked(200), exchange('query', 1, 'x'.repeat(16_000))], 'all', 100);

    expect(heads(shown)).toHaveLength(201);
    expect(shown).not.toContain('…');
    expect(shown.match(/x/g)).toHaveLength(16_000);
  });

  test('are cut in width when only the first and last are shown', () => {
    const [, , ...answer] = showExchanges(
      [exchange('query', 1, `{\n "a": "${'x'.repeat(500)}"}`)],
      'ends',
      100,
    ).split('\n');

    expect(answer.join(' ')).toMatch(/^ {2}< +200 \{ "a": +"x+…$/);
  });
});
