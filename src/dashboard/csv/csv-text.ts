/*
 * CSV that a spreadsheet opens without running anything in it. A spreadsheet does not ask how a file was meant: by its own
 * settings it splits lines at commas, semicolons, tabs or bars, and it may take a quote for a character like others. So each
 * place is made safe at which any of them could begin a cell.
 */

/** What begins a formula, or a command (OWASP, CSV injection). Spreadsheets read the wide forms as the plain ones. */
const starters = '=+\\-@＝＋－＠';
/** What ends a cell, in one setting or another, or a line. */
const separators = ',;|\\t\\r\\n\\v\\f\\u0085\\u2028\\u2029';
/** What a spreadsheet skips, or takes away, before it looks at how a cell begins. */
const skipped = `["'\\s\\p{Cc}\\p{Cf}]`;

/** Where a cell may begin, and right after that a formula. */
const formula = new RegExp(`(^|[${separators}])(${skipped}*)(?=[${starters}])`, 'gu');
/** A tab or a line end begins no formula, but a spreadsheet that takes it away looks at what follows (OWASP lists both). */
const startsOdd = /^[\t\r\n]/;
const needsQuotes = /[",;|\t\r\n\v\f\u0085\u2028\u2029]/u;

/** A text as one field of a line, in quotes where it needs them (RFC 4180). An apostrophe marks what must stay a text. */
export function csvField(text: string): string {
  const marked = text.replace(formula, "$1$2'");
  const safe = startsOdd.test(marked) ? `'${marked}` : marked;
  return needsQuotes.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** What a spreadsheet may take for a number, a date or a time: it would drop zeros, and digits after the fifteenth. */
const isNumeric = (text: string): boolean => /^[\s\d.,:/()%+eE-]*$/.test(text) && /\d/.test(text);
const isMonth = (text: string): boolean =>
  /^\s*(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*[-/.\s]*\d+\s*$/i.test(text);
const isMarked = (text: string): boolean => text.startsWith("'");

/** As `csvField`, for what only names something, such as a phone: a spreadsheet must not count with it. */
export function csvName(text: string): string {
  const field = csvField(text);
  return (isNumeric(text) || isMonth(text)) && !isMarked(field) ? csvField(`'${text}`) : field;
}

/** One line, from fields as `csvField` and `csvName` give them. */
export const csvLine = (fields: readonly string[]): string => `${fields.join(',')}\r\n`;

/** Before the first line: Excel reads UTF-8 by this alone. */
export const csvMark = '\uFEFF';
