import type { OrderWords } from './order-words.ts';

const grouped = /^\d{1,3}(?:[\s,.'’_]\d{3})+(?:\.\d*)?$/;
const commaBeforeDecimals = /^\d+,\d{1,2}$/;

/** Why core refused an amount, and how to enter it. */
export function amountProblem(text: string, words: OrderWords['amountProblems']): string {
  if (commaBeforeDecimals.test(text)) return words.comma(text.replace(',', '.'), text);
  if (grouped.test(text) && /[\s,'’_]/.test(text))
    return words.grouped(text.replaceAll(/[\s,'’_]/g, '').replace(/\.$/, ''), text);
  if (!/^(?:0|[1-9]\d*)(?:\.\d+)?$/.test(text)) return words.malformed;
  if (!/[1-9]/.test(text)) return words.zero;
  return /^\d{13}/.test(text) ? words.tooLarge : words.decimals;
}
