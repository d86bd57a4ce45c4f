import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { csvField, csvLine, csvName } from '../../../src/dashboard/csv/csv-text.ts';
import { ordersCsv } from '../../../src/dashboard/payments/orders-csv.ts';
import { refundsCsv } from '../../../src/dashboard/refunds/refunds-csv.ts';

/** Reads a line like a spreadsheet that splits at `separator`, with or without support for quotes. */
function cellsOf(text: string, separator: string, knowsQuotes: boolean): string[] {
  const cells: string[] = [];
  let cell = '';
  let isQuoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const letter = text.charAt(at);
    if (isQuoted && letter === '"' && text.charAt(at + 1) === '"') {
      cell += letter;
      at += 1;
    } else if (knowsQuotes && letter === '"' && (isQuoted || cell === '')) isQuoted = !isQuoted;
    else if (!isQuoted && (letter === separator || letter === '\r' || letter === '\n')) {
      cells.push(cell);
      cell = '';
    } else cell += letter;
  }
  return [...cells, cell];
}

/** Whether a spreadsheet may run the cell, also one that first removes blanks, quotes and invisible characters. */
const isFormula = (cell: string): boolean => /^[\s"\p{Cc}\p{Cf}]*[=+\-@＝＋－＠]/u.test(cell);

describe('a field of a CSV file', () => {
  test.each([
    ['plain', 'plain'],
    ['a "quoted", text', '"a ""quoted"", text"'],
    ['two\nlines', '"two\nlines"'],
    ['a=b, c@d', '"a=b, c@d"'],
    ['Shoes - red', 'Shoes - red'],
    ['=1+1', "'=1+1"],
    ['+1', "'+1"],
    ['-1', "'-1"],
    ['@SUM(A1)', "'@SUM(A1)"],
    ...['＝1+1', '＋1', '－1', '＠SUM(A1)'].map((text) => [text, `'${text}`]),
    [' =1', " '=1"],
    ['\u200B=1', "\u200B'=1"],
    ['\tx', '"\'\tx"'],
    ['\rx', '"\'\rx"'],
    ['\nx', '"\'\nx"'],
    ['x;=1+1', '"x;\'=1+1"'],
    ['x,=1+1', '"x,\'=1+1"'],
    ['x|=1+1', '"x|\'=1+1"'],
    ['x\t=1+1', '"x\t\'=1+1"'],
    ['x\r\n=1+1', '"x\r\n\'=1+1"'],
    ['x;"=1+1"', '"x;""\'=1+1"""'],
  ])('%j is written as %j', (text, field) => {
    expect(csvField(text)).toBe(field);
  });

  test.each(['\n', '\n '])('is read once, also with a million of %j', (gap) => {
    const text = `a${gap.repeat(1_000_000)}b`;

    expect(csvField(text)).toBe(`"${text}"`);
  });

  test.each([
    ['+251911000001', "'+251911000001"],
    ['0911000001', "'0911000001"],
    ['007', "'007"],
    ['1E5', "'1E5"],
    ['12345678901234567890', "'12345678901234567890"],
    ['1/2', "'1/2"],
    ['MAR1', "'MAR1"],
    ['1-MAR', "'1-MAR"],
    ['12 December 2026', "'12 December 2026"],
    ['May', 'May'],
    ['1-MAR-A', '1-MAR-A'],
    ['1,5', '"\'1,5"'],
    ['A-007', 'A-007'],
    ['', ''],
  ])('that is an identifier stays a text: %j is written as %j', (text, field) => {
    expect(csvName(text)).toBe(field);
  });

  test('begins no formula, wherever a spreadsheet splits the line, and is read back unchanged by a correct reader', () => {
    const letters = '=+-@＝＠;,|\t\r\n"\' \u200Bx1';
    const text = fc.string({ unit: fc.constantFrom(...letters), maxLength: 12 });
    fc.assert(
      fc.property(fc.array(text, { minLength: 1, maxLength: 4 }), (texts) => {
        for (const write of [csvField, csvName]) {
          const line = csvLine(texts.map(write));
          const read = cellsOf(line, ',', true).slice(0, texts.length);
          expect(read.map((cell) => cell.replaceAll("'", ''))).toEqual(
            texts.map((each) => each.replaceAll("'", '')),
          );
          for (const separator of [',', ';', '\t', '|'])
            for (const knowsQuotes of [true, false])
              expect(cellsOf(line, separator, knowsQuotes).filter(isFormula)).toEqual([]);
        }
      }),
      { numRuns: 400 },
    );
  });
});

test.each([
  ['orders', ordersCsv('UTC').start],
  ['refunds', refundsCsv('UTC').start],
])('a file of %s begins with a byte order mark, without which Excel does not read UTF-8', (_what, start) => {
  expect(start).toMatch(/^\uFEFF(order|refund)_id,.+\r\n$/);
});
