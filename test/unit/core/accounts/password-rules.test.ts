import { describe, expect, test } from '@jest/globals';
import { createPasswordRules } from '../../../../src/core/accounts/password-rules.ts';

const parse = createPasswordRules();
const owner = ['Sara.Bekele@shop.example', 'Sara Bekele'];
const isTaken = (text: string): boolean => parse(text, 'password', owner).ok;

describe('a password is accepted', () => {
  test.each([
    ['of 12 characters', 'vq7-lamp-oud'],
    ['of 256 characters', `${'harbour lantern '.repeat(15)}sixteen letters!`],
    ['of several words, though each is common', 'dragon master shadow'],
    ['in Amharic', 'ጸጥ ያለ የማለዳ ወንዝ'],
    ['with an emoji in the middle', 'river 🦒 lantern'],
    ['that has a word of its owner among others', 'sara walks by the river'],
  ])('%s', (_name, text) => {
    expect(isTaken(text)).toBe(true);
  });
});

describe('a password is refused', () => {
  test.each([
    ['that is empty', ''],
    ['of 11 characters', 'vq7-lamp-ou'],
    ['of 12 code units that are 6 characters', '🦒🦒🦒🦒🦒🦒'],
    ['of 257 characters', 'harbour lantern '.repeat(16) + 'x'],
    ['of thousands of characters that compose to few', 'e\u0301'.repeat(3000)],
    ['with half a character', 'river lantern \ud83e'],
    ['that is common', 'qwertyuiop123456'],
    ['that is common, in capitals', 'LeaveMeAlone'],
    ['that is common and written twice', 'sunshinesunshine'],
    ['that is common with digits behind it', 'password20261121'],
    ['that is common with signs around it', '!!!superman2026!!!'],
    ['of few characters over and over', 'abababababababab'],
    ['of digits that repeat', '121212121212'],
    ['that is its owner’s address', 'sara.bekele@shop.example'],
    ['that is its owner’s name with digits', 'Bekele123456789'],
    ['that is its owner’s name twice', 'bekelebekele'],
  ])('%s', (_name, text) => {
    expect(isTaken(text)).toBe(false);
  });
});

test('a password is the same in composed and decomposed Unicode', () => {
  const [composed, decomposed] = ['crème brûlée au four', 'crème brûlée au four'.normalize('NFD')].map(
    (text) => parse(text, 'password', owner),
  );
  expect(composed).toEqual(decomposed);
});
