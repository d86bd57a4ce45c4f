import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { TypeID } from 'typeid-js';
import { isPublicId } from '../../../src/contract/public-id.ts';
import { publicId, storedId } from '../../support/ids.ts';
import { forAll } from '../../support/for-all.ts';

const uuids = fc.uuid();
/** As many bits as an id has, whether or not they are a UUID. */
const suffixes = fc
  .bigInt({ min: 0n, max: 2n ** 128n - 1n })
  .map((bits) => TypeID.fromUUID('ord', uuidOf(bits)).getSuffix());

function uuidOf(bits: bigint): string {
  return bits
    .toString(16)
    .padStart(32, '0')
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

const byTheLibrary = (id: string): string | undefined => {
  try {
    return TypeID.fromString(id, 'ord').toUUID();
  } catch {
    return undefined;
  }
};

describe('a public id', () => {
  forAll([uuids])('is shown as a TypeID of its UUID', (uuid) => {
    expect(publicId('ord', uuid)).toBe(TypeID.fromUUID('ord', uuid).toString());
  });

  forAll([uuids])('is stored as the UUID that it shows', (uuid) => {
    expect(storedId('mer', publicId('mer', uuid))).toBe(uuid);
  });

  test.each(['00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff'])(
    'accepts the UUID %s',
    (uuid) => {
      expect(publicId('ord', uuid)).toBe(TypeID.fromUUID('ord', uuid).toString());
      expect(storedId('ord', publicId('ord', uuid))).toBe(uuid);
    },
  );

  forAll([suffixes])('is valid exactly when its bits are a UUID', (suffix) => {
    expect(isPublicId('ord', `ord_${suffix}`)).toBe(byTheLibrary(`ord_${suffix}`) !== undefined);
  });
});

describe('an invalid id', () => {
  const good = publicId('ord', '01939c00-0000-7000-8000-00000000abcd');
  test.each([
    ['nothing', ''],
    ['another kind', good.replace('ord', 'mer')],
    ['another separator', good.replace('_', '-')],
    ['no prefix', good.slice(4)],
    ['capital letters', good.toUpperCase()],
    ['a letter too few', good.slice(0, -1)],
    ['a letter too many', `${good}0`],
    ['a letter that could be taken for a digit', `${good.slice(0, -1)}l`],
    ['more than 128 bits', good.replace('_0', '_8')],
    ['a letter beyond ASCII', `${good.slice(0, -1)}é`],
    ['a line break at the end', `${good}\n`],
  ])('is refused: %s', (_what, text) => {
    expect(isPublicId('ord', text)).toBe(false);
    expect(() => storedId('ord', text)).toThrow('is not an id of the form ord_');
  });

  forAll([fc.string({ unit: 'binary' })])('is refused for any text that the library refuses', (text) => {
    expect(isPublicId('ord', `ord_${text}`)).toBe(byTheLibrary(`ord_${text}`) !== undefined);
  });
});
