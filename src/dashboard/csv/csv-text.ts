/*
 * CSV that a spreadsheet opens without executing formulas. The settings of the spreadsheet decide whether it splits lines at
 * commas, semicolons, tabs or bars, and whether quotes are special. So every position that could begin a cell with any of
 * these settings is made safe.
 */

/** Characters that begin a formula or a command (OWASP, CSV injection). Spreadsheets treat full-width forms the same. */
const starters = '=+\\-@＝＋－＠';
/** Characters that end a cell or a line, with any setting. */
const separators = ',;|\\t\\r\\n\\v\\f\\u0085\\u2028\\u2029';
/** Characters that a spreadsheet drops at the beginning of a cell. */
const skipped = '"\'\\s\\p{Cc}\\p{Cf}';

/** The characters before the content of a cell. Each run is read once: a pattern that also looks for its end would read it again and again. */
const gap = new RegExp(`^[${separators}${skipped}]*|[${separators}${skipped}]+`, 'gu');
const separator = new RegExp(`[${separators}]`, 'u');
const starter = new RegExp(`[${starters}]`, 'u');
/** A tab or a line end begins no formula. But a spreadsheet may drop it and evaluate the rest (OWASP lists both). */
const startsOdd = /^[\t\r\n]/;
const needsQuotes = /[",;|\t\r\n\v\f\u0085\u2028\u2029]/u;

/** A text as one field of a line, quoted if necessary (RFC 4180). An apostrophe marks text that must not be evaluated. */
export function csvField(text: string): string {
  const marked = text.replace(gap, (run, at: number) => {
    const beginsCell = at === 0 || separator.test(run);
    return beginsCell && starter.test(text.charAt(at + run.length)) ? `${run}'` : run;
  });
  const safe = startsOdd.test(marked) ? `'${marked}` : marked;
  return needsQuotes.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Text that a spreadsheet may read as a number, date or time. It would drop zeros, and digits after the fifteenth. */
const isNumeric = (text: string): boolean => /^[\s\d.,:/()%+eE-]*$/.test(text) && /\d/.test(text);
const isMonth = (text: string): boolean =>
  /^[\s\d,/.-]*(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*[\s\d,/.-]*$/i.test(text) &&
  /\d/.test(text);
const isMarked = (text: string): boolean => text.startsWith("'");

/** As `csvField`, for identifiers such as a phone, which a spreadsheet must not read as numbers. */
export function csvName(text: string): string {
  const field = csvField(text);
  return (isNumeric(text) || isMonth(text)) && !isMarked(field) ? csvField(`'${text}`) : field;
}

/** One line, from results of `csvField` and `csvName`. */
export const csvLine = (fields: readonly string[]): string => `${fields.join(',')}\r\n`;

/** The byte order mark before the first line, without which Excel does not read UTF-8. */
export const csvMark = '\uFEFF';
