import { table } from './table.ts';

/** A command as a server writes it into a sentence, which cannot know how the program is called here. */
const command = /(?<=^|\s)gatehouse (?=(?:webhook|doctor)\b)/;

/**
 * Sentences that a server wrote for people, one under the other. A command at the end of one is on a line of its own and
 * never broken, so that it can be pasted.
 */
export function showSentences(sentences: readonly string[], invocation: string): string {
  return sentences
    .map((sentence) => {
      const [prose = '', ...commands] = sentence.split(command);
      return [wrap(prose.trim()), ...commands.map((rest) => `  ${invocation} ${rest.trim()}`)].join('\n');
    })
    .join('\n');
}

/** Prose is read by people at terminals of ordinary width. */
const proseWidth = 80;

const wrap = (text: string): string => table([{ head: '', atMost: proseWidth, gives: true }], [[text]]);
