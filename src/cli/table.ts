import Table from 'cli-table3';

/** The width of output without a terminal: it fits an ordinary terminal and a ticket. */
export const defaultWidth = 100;
const gap = 2;

export interface Column {
  readonly head: string;
  /** Wider content is wrapped at this width, between words. */
  readonly atMost?: number;
  /** Wrapped between words so that the table fits. Of several such columns, those on the left are narrowed first. */
  readonly wraps?: boolean;
  /** Aligned to the right, for amounts. */
  readonly right?: boolean;
}

/** C0 and C1 controls except the line break, and characters that change the direction of writing. */
const obeyedByTerminals = /(?!\n)[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** Text of unknown origin, without characters that control a terminal. */
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

/** The width of the widest line of the cells on a screen, including the gap after it. */
function naturalWidth(cells: readonly string[]): number {
  const table = new Table(plain);
  // Not as arguments of one call: 10,000 differences have more words than a call takes.
  for (const cell of new Set(cells)) table.push([cell]);
  return table.width;
}

/** The smallest width for wrapping: a broken id, e-mail address or URL could not be copied. */
const longestWord = (cells: readonly string[]): number =>
  naturalWidth([...cells.flatMap((cell) => cell.split(/\s+/)), '']);

/** The columns' widths, including their gaps, and whether they fit the width without breaking a word. */
function fitColumns(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width: number,
): { readonly colWidths: readonly number[]; readonly fits: boolean } {
  const measured = columns.map(({ head, atMost = Infinity, wraps = false }, index) => {
    const cells = [head, ...rows.map((row) => row[index] ?? '')];
    const longest = longestWord(cells);
    const wanted = Math.max(longest, Math.min(naturalWidth(cells), atMost + gap));
    return { least: wraps ? longest : wanted, wanted };
  });
  const sum = (widths: readonly number[]): number => widths.reduce((total, each) => total + each, 0) - gap;
  const needed = sum(measured.map(({ least }) => least));
  let excess = sum(measured.map(({ wanted }) => wanted)) - Math.max(width, needed);
  const colWidths = measured.map(({ least, wanted }) => {
    const narrowed = excess > 0 ? Math.max(least, wanted - excess) : wanted;
    excess -= wanted - narrowed;
    return narrowed;
  });
  return { colWidths, fits: needed <= width };
}

/** A line that is a command. It may be part of some advice. */
const commandLine = /^(?:> )?gatehouse .+$/gm;
/** Stands on both sides of a command's number while the table is drawn. `printable` leaves no such character in a cell. */
const mark = '\u0001';

/**
 * Rows under their heads. If they do not fit the width without breaking a word, each row becomes a list of its values, each
 * after its head. A line of the last column that is a command is not wrapped, so that it can be copied.
 */
export function table(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width: number,
): string {
  const commands: string[] = [];
  const hideCommands = (cell: string): string =>
    cell.replace(commandLine, (command) => `${mark}${commands.push(command) - 1}${mark}`);
  const cells = rows.map((row) =>
    row.map(printable).map((cell, index) => (index === columns.length - 1 ? hideCommands(cell) : cell)),
  );
  return layOut(columns, cells, width)
    .split(mark)
    .map((part, index) => (index % 2 === 0 ? part : (commands[Number(part)] ?? '')))
    .join('');
}

function layOut(columns: readonly Column[], cells: readonly (readonly string[])[], width: number): string {
  const heads = columns.map(({ head }) => head);
  const hasHeads = heads.some((head) => head !== '');
  const { colWidths, fits } = fitColumns(columns, cells, width);
  if (!fits && hasHeads) return cells.map((row) => listOf(heads, row, width)).join('\n\n');
  // Without heads there is no other layout. Long words exceed the width, so that they can still be copied.
  return drawTable(columns, hasHeads ? [heads, ...cells] : cells, colWidths);
}

function drawTable(
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

/** A row's values, each after its head. The lines of a value are aligned, and wrapped between words to fit the width. */
function listOf(heads: readonly string[], row: readonly string[], width: number): string {
  const rows = row.flatMap((value, index) => (value === '' ? [] : [[heads[index] ?? '', value]]));
  const headWidth = naturalWidth(heads);
  const values = rows.map(([, value = '']) => value);
  return drawTable([], rows, [headWidth, Math.max(longestWord(values), width - headWidth + gap)]);
}

/** An advice, with `> ` before each line. A line becomes a sentence, unless it is a command. */
export const adviceLines = (text: string): string =>
  text
    .split('\n')
    .map((line) => `> ${line.startsWith('gatehouse ') ? line : sentence(line)}`)
    .join('\n');

const sentence = (text: string): string =>
  `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.:;]$/.test(text) ? '' : '.'}`;

/** Named values as lines, each after its name. Empty values are left out. */
export const fields = (values: readonly (readonly [name: string, value: string])[], width: number): string =>
  table(
    [{ head: '' }, { head: '', wraps: true }],
    values.filter(([, value]) => value !== ''),
    width,
  );
