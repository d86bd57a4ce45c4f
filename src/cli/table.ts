import Table from 'cli-table3';

/** How wide output gets where no terminal says otherwise: what fits an ordinary one, and a page of a ticket. */
export const defaultWidth = 100;
const gap = 2;

export interface Column {
  readonly head: string;
  /** Wider content is wrapped at this width, between words. */
  readonly atMost?: number;
  /** Wrapped between words as far as it takes for the table to fit. One column of a table. */
  readonly gives?: boolean;
  /** Set to the right: amounts. */
  readonly right?: boolean;
}

/** C0 and C1 controls but for the line break, and what turns the direction of writing around. */
const obeyedByTerminals = /(?!\n)[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** Text that may have been written by anybody, with nothing in it that a terminal would obey. */
export const printable = (text: string): string =>
  text.replace(
    obeyedByTerminals,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

const noBorders = Object.fromEntries(
  ['top', 'top-mid', 'top-left', 'top-right', 'bottom', 'bottom-mid', 'bottom-left', 'bottom-right']
    .concat(['left', 'left-mid', 'mid', 'mid-mid', 'right', 'right-mid', 'middle'])
    .map((name) => [name, '']),
);

const plain = { chars: noBorders, style: { 'padding-left': 0, 'padding-right': gap, head: [], border: [] } };

/** The width that the widest line of the cells takes on a screen, with the gap behind it. */
function naturalWidth(cells: readonly string[]): number {
  const table = new Table(plain);
  table.push(...cells.map((cell) => [cell]));
  return table.width;
}

/** What no wrapping may make narrower: an id, an e-mail address or a URL that is broken cannot be copied. */
const longestWord = (cells: readonly string[]): number =>
  naturalWidth([...cells.flatMap((cell) => cell.split(/\s+/)), '']);

/** The columns' widths, with their gaps, and whether they fit the width: no word is broken for that. */
function fit(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width: number,
): { readonly colWidths: readonly number[]; readonly fits: boolean } {
  const measured = columns.map(({ head, atMost = Infinity, gives = false }, index) => {
    const cells = [head, ...rows.map((row) => row[index] ?? '')];
    const longest = longestWord(cells);
    const wanted = Math.max(longest, Math.min(naturalWidth(cells), atMost + gap));
    return { least: gives ? longest : wanted, wanted };
  });
  const sum = (widths: readonly number[]): number => widths.reduce((total, each) => total + each, 0) - gap;
  const needed = sum(measured.map(({ least }) => least));
  const excess = sum(measured.map(({ wanted }) => wanted)) - Math.max(width, needed);
  return {
    colWidths: measured.map(({ least, wanted }) => (excess > 0 ? Math.max(least, wanted - excess) : wanted)),
    fits: needed <= width,
  };
}

/**
 * Rows under their heads. Where they do not fit the width without a word being broken, each row is a list of its values
 * instead, behind the heads.
 */
export function table(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width = defaultWidth,
): string {
  const cells = rows.map((row) => row.map(printable));
  const heads = columns.map(({ head }) => head);
  const hasHeads = heads.some((head) => head !== '');
  const { colWidths, fits } = fit(columns, cells, width);
  if (!fits && hasHeads) return cells.map((row) => listOf(heads, row)).join('\n\n');
  // Without heads there is no other layout: what is too long runs over the edge, and is whole when it is copied.
  return draw(columns, hasHeads ? [heads, ...cells] : cells, colWidths);
}

function draw(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  colWidths: readonly number[],
): string {
  const drawn = new Table({ ...plain, colWidths: [...colWidths], wordWrap: true });
  for (const row of rows)
    drawn.push(
      row.map((content, index) => ({
        content,
        hAlign: columns[index]?.right === true ? ('right' as const) : ('left' as const),
      })),
    );
  return drawn.toString().replace(/ +$/gm, '');
}

/** A row's values under each other, each behind its head; a second line of a value stands under the first. */
function listOf(heads: readonly string[], row: readonly string[]): string {
  const headWidth = naturalWidth([...heads]);
  return row
    .flatMap((value, index) => {
      if (value === '') return [];
      return value
        .split('\n')
        .map((line, number) =>
          `${(number === 0 ? (heads[index] ?? '') : '').padEnd(headWidth)}${line}`.trimEnd(),
        );
    })
    .join('\n');
}

/** Each line of a text behind a mark. */
export const markLines = (text: string, mark: string): string => text.replace(/^/gm, mark);

/** One thing's values under each other, each behind its name. What has no value is left out. */
export const fields = (values: readonly (readonly [name: string, value: string])[]): string =>
  table(
    [{ head: '' }, { head: '', gives: true }],
    values.filter(([, value]) => value !== ''),
  );
