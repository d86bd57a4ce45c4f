import { expect, test } from '@jest/globals';
import { showSentences } from '../../../src/cli/sentences.ts';

test('a command has a line of its own and is never broken', () => {
  const url = `https://${'long.'.repeat(20)}example`;
  const sentences = ['It waits.', `When it is ready: gatehouse webhook resume mer_1 ${url}`];

  const shown = showSentences(sentences);

  expect(shown).toBe(`It waits.\nWhen it is ready:\n  gatehouse webhook resume mer_1 ${url}`);
});

test('a gatehouse that is not a command stays where it is', () => {
  expect(showSentences(['paused by operator:gatehouse for good'])).toBe(
    'paused by operator:gatehouse for good',
  );
});

test('prose is wrapped between words, and nothing in it is obeyed by a terminal', () => {
  const shown = showSentences([`${'It rests. '.repeat(15)}\u001b[2J`]);

  expect(shown.split('\n')).toHaveLength(2);
  expect(shown).toMatch(/It rests\.\n/);
  expect(shown).toContain(String.raw`\u001b[2J`);
});
