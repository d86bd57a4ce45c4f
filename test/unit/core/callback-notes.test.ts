import { expect, test } from '@jest/globals';
import { withNote } from '../../../src/core/payments/attempts/callback-notes.ts';

test('an attempt keeps the last sixteen different notes of callbacks, oldest first', () => {
  const all = Array.from({ length: 20 }, (_, index) => `note ${index}`);
  const kept = all.flatMap((note) => [note, note]).reduce<readonly string[]>(withNote, []);

  expect(kept).toEqual(all.slice(-16));
  expect(withNote(kept, '')).toEqual(kept);
  expect(withNote(kept, 'x'.repeat(801))).toEqual(kept);
  expect(withNote(kept, 'a\0b')).toEqual(kept);
});
