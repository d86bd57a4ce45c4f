import { table } from './table.ts';

/** Where a command begins in a server's sentence. */
const beforeCommand = /(?:^|\s)(?=gatehouse (?:webhook|doctor)\b)/;

/**
 * Sentences that a server wrote for people, one under the other. A command at the end of one is on a line of its own and
 * never broken, so that it can be pasted.
 */
export function showSentences(sentences: readonly string[]): string {
  return sentences
    .map((sentence) => {
      const [prose = '', ...commands] = sentence.split(beforeCommand);
      return [wrap(prose.trim()), ...commands.map((rest) => `  ${rest.trim()}`)].join('\n');
    })
    .join('\n');
}

/** Prose is read by people at terminals of ordinary width. */
const proseWidth = 80;

const wrap = (text: string): string => table([{ head: '', atMost: proseWidth, gives: true }], [[text]]);
