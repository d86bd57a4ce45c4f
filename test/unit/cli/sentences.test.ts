import { expect, test } from '@jest/globals';
import { showSentences } from '../../../src/cli/sentences.ts';

test('a command has its own line and is never wrapped, and prose is wrapped between words', () => {
  const command = `gatehouse webhook resume mer_1 https://${'long.'.repeat(20)}example`;

  const shown = showSentences([
    { text: 'It waits.', command: '' },
    { text: 'Resume it:', command },
    { text: 'It waits. '.repeat(15), command: '' },
  ]);

  expect(shown.split('\n').slice(0, 3)).toEqual(['It waits.', 'Resume it:', `  ${command}`]);
  expect(shown.split('\n')).toHaveLength(5);
});

test('control characters in a text or a command do not reach the terminal', () => {
  const shown = showSentences([{ text: 'a\u001b[2J', command: 'b\u001b[2J' }]);

  expect(shown).toBe('a\\u001b[2J\n  b\\u001b[2J');
});
