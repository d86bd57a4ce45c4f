import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { createAccountTurns } from '../../../../src/core/accounts/account-turns.ts';
import type { Visitor } from '../../../../src/core/accounts/account-turns.ts';

test('a known person is next, however many unknown people wait, and one site, account or place of an account leaves room for others', async () => {
  const inTurn = createAccountTurns();
  const { signal } = new AbortController();
  const ended: string[] = [];
  const check = (name: string, visitor: Visitor): Promise<void> =>
    inTurn(visitor, signal, async () => {
      await nextTurn();
      ended.push(name);
    });
  const flood = Array.from({ length: 100 }, () => check('flood', { kind: 'unknown', site: '192.0.2.1' }));
  const guesses = Array.from({ length: 10 }, () =>
    check('guess', {
      kind: 'known',
      emailKey: 'sara@shop.example',
      place: 'stolen browser',
      site: '192.0.2.1',
    }),
  );
  const others = [
    check('unknown', { kind: 'unknown', site: '192.0.2.2' }),
    check('known', { kind: 'known', emailKey: 'almaz@shop.example', place: 'session', site: '192.0.2.1' }),
    check('own browser', {
      kind: 'known',
      emailKey: 'sara@shop.example',
      place: 'own browser',
      site: '192.0.2.1',
    }),
  ];

  const settled = await Promise.allSettled([...flood, ...guesses]);
  const refused = settled.filter(({ status }) => status === 'rejected');
  await Promise.all(others);
  expect(refused).toHaveLength(91 + 1);
  expect(ended.slice(0, 5)).toEqual(['flood', 'flood', 'guess', 'unknown', 'known']);
  expect(ended.indexOf('own browser')).toBeLessThan(ended.lastIndexOf('guess'));
});

test('anyone with many accounts keeps the users of others out only for the turns that each account has of its own', async () => {
  const inTurn = createAccountTurns();
  const { signal } = new AbortController();
  const check = (emailKey: string, site: string): Promise<void> =>
    inTurn({ kind: 'known', emailKey, place: 'session', site }, signal, () => nextTurn());
  const flood = () =>
    Promise.allSettled(
      Array.from({ length: 70 }, (_each, index) => check(`${index}@shop.example`, '192.0.2.1')),
    );
  for (let count = 0; count < 10; count += 1) await flood();

  const flooding = flood();
  await check('almaz@shop.example', '192.0.2.2');
  await flooding;
});
