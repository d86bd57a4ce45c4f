import { expect, test } from '@jest/globals';
import { passwordHashes, unmatchableHash } from '../../../../src/core/accounts/password-hashes.ts';

const { hash, matches } = passwordHashes;

test('an unknown address takes the same work as a wrong password, because both hashes have the same cost', async () => {
  const made = await hash('a long enough password');

  const [, ...parts] = made.split('$');
  expect(parts.slice(0, 3)).toEqual(['argon2id', 'v=19', 'm=19456,t=2,p=1']);
  const [, ...partsOfNobody] = unmatchableHash.split('$');
  expect(partsOfNobody.slice(0, 3)).toEqual(parts.slice(0, 3));
  expect(partsOfNobody.map(({ length }) => length)).toEqual(parts.map(({ length }) => length));
  expect(await matches('a long enough password', made)).toBe(true);
  expect(await matches('another long password', made)).toBe(false);
  expect(await matches('a long enough password', undefined)).toBe(false);
});
