import { explanationText } from '../contract/explanation-text.ts';
import type { OperatorSentence } from '../contract/explanation-text.ts';
import type { ExplainDeliveryResponse } from '../gen/gatehouse/v1/webhook_service_pb.js';
import { requireField } from './output.ts';
import { printable, table } from './table.ts';

/** An explanation as sentences. */
export const explanationSentences = (answer: ExplainDeliveryResponse): readonly OperatorSentence[] =>
  explanationText({
    delivery: requireField(answer.delivery),
    endpoint: requireField(answer.endpoint),
    explanation: requireField(answer.explanation),
  });

/** Sentences as separate lines. A command gets its own unbroken line after its sentence, so that it can be copied. */
export const showSentences = (sentences: readonly OperatorSentence[]): string =>
  sentences
    .map(({ text, command }) =>
      [wrap(text), ...(command === '' ? [] : [`  ${printable(command)}`])].join('\n'),
    )
    .join('\n');

/** The width of prose: it fits an ordinary terminal. */
const proseWidth = 80;

const wrap = (text: string): string => table([{ head: '', wraps: true }], [[text]], proseWidth);
