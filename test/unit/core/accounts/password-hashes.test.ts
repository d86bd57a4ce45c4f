import { expect, test } from '@jest/globals';
import { createPasswordHashes, hashOfNobody } from '../../../../src/core/accounts/password-hashes.ts';

const { hash, matches } = createPasswordHashes();
const { signal } = new AbortController();

test('an unknown address takes the same work as a wrong password, because both hashes have the same cost', async () => {
  const made = await hash('a long enough password', signal);

  const [, ...parts] = made.split('$');
  expect(parts.slice(0, 3)).toEqual(['argon2id', 'v=19', 'm=19456,t=2,p=1']);
  const [, ...partsOfNobody] = hashOfNobody.split('$');
  expect(partsOfNobody.slice(0, 3)).toEqual(parts.slice(0, 3));
  expect(partsOfNobody.map(({ length }) => length)).toEqual(parts.map(({ length }) => length));
  expect(await matches('a long enough password', made, signal)).toBe(true);
  expect(await matches('another long password', made, signal)).toBe(false);
  expect(await matches('a long enough password', undefined, signal)).toBe(false);
});
