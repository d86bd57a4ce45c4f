import type { OrderWords } from './order-words.ts';

const grouped = /^\d{1,3}(?:[\s,.'’_]\d{3})+(?:\.\d*)?$/;
const commaBeforeDecimals = /^\d+,\d{1,2}$/;

/** Why core refused an amount, and how to enter it. */
export const amountProblem = (text: string, words: OrderWords['amountProblems']): string =>
  textProblem(text, words) ?? words.decimals;

/** Why a text is no amount in any currency, and how to enter it; undefined for one that can be an amount. */
export function textProblem(text: string, words: OrderWords['amountProblems']): string | undefined {
  if (commaBeforeDecimals.test(text)) return words.comma(text.replace(',', '.'), text);
  if (grouped.test(text) && /[\s,'’_]/.test(text))
    return words.grouped(text.replaceAll(/[\s,'’_]/g, '').replace(/\.$/, ''), text);
  if (!/^(?:0|[1-9]\d*)(?:\.\d+)?$/.test(text)) return words.malformed;
  if (!/[1-9]/.test(text)) return words.zero;
  return /^\d{13}/.test(text) ? words.tooLarge : undefined;
}
