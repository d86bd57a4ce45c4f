import { explanationText } from '../contract/explanation-text.ts';
import type { OperatorSentence } from '../contract/explanation-text.ts';
import type { ExplainDeliveryResponse } from '../gen/gatehouse/v1/webhook_service_pb.js';
import { answered } from './output.ts';
import { printable, table } from './table.ts';

/** An explanation in words. A webhooks process of the version before sends only the words. */
export function explanationSentences(answer: ExplainDeliveryResponse): readonly OperatorSentence[] {
  const { explanation, sentences } = answer;
  if (explanation === undefined) return sentences.map((text) => ({ text, command: '' }));
  return explanationText({
    delivery: answered(answer.delivery),
    endpoint: answered(answer.endpoint),
    explanation,
  });
}

/** Sentences, each on a line of its own. A command follows on the next line and is never broken, so that it can be pasted. */
export const showSentences = (sentences: readonly OperatorSentence[]): string =>
  sentences
    .map(({ text, command }) =>
      [wrap(text), ...(command === '' ? [] : [`  ${printable(command)}`])].join('\n'),
    )
    .join('\n');

/** Prose is read by people at terminals of ordinary width. */
const proseWidth = 80;

const wrap = (text: string): string => table([{ head: '', atMost: proseWidth, gives: true }], [[text]]);
