import { expect, test } from '@jest/globals';
import { createPasswordHashes, unmatchableHash } from '../../../../src/core/accounts/password-hashes.ts';
import type { PasswordOwner } from '../../../../src/core/accounts/password-hashes.ts';

const { hash, matches } = createPasswordHashes();
const { signal } = new AbortController();
const owner = { kind: 'known', emailKey: 'abebe@shop.example' } as const;

test('an unknown address takes the same work as a wrong password, because both hashes have the same cost', async () => {
  const made = await hash('a long enough password', owner, signal);

  const [, ...parts] = made.split('$');
  expect(parts.slice(0, 3)).toEqual(['argon2id', 'v=19', 'm=19456,t=2,p=1']);
  const [, ...partsOfNobody] = unmatchableHash.split('$');
  expect(partsOfNobody.slice(0, 3)).toEqual(parts.slice(0, 3));
  expect(partsOfNobody.map(({ length }) => length)).toEqual(parts.map(({ length }) => length));
  expect(await matches('a long enough password', made, owner, signal)).toBe(true);
  expect(await matches('another long password', made, owner, signal)).toBe(false);
  expect(await matches('a long enough password', undefined, owner, signal)).toBe(false);
});

test('a known person is next, however many unknown people wait, and one site leaves room for others', async () => {
  const ended: string[] = [];
  const check = async (name: string, by: PasswordOwner): Promise<void> => {
    await matches('any password', undefined, by, signal);
    ended.push(name);
  };
  const flood = Array.from({ length: 100 }, () => check('flood', { kind: 'unknown', site: '192.0.2.1' }));
  const others = [
    check('unknown', { kind: 'unknown', site: '192.0.2.2' }),
    check('known', { kind: 'known', emailKey: 'almaz@shop.example' }),
  ];

  const refused = (await Promise.allSettled(flood)).filter(({ status }) => status === 'rejected');
  await Promise.all(others);
  expect(refused).toHaveLength(91);
  expect(ended.slice(0, 4)).toEqual(['flood', 'flood', 'known', 'unknown']);
});
