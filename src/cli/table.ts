import Table from 'cli-table3';

/** How wide output may get: what fits an ordinary terminal, and a page of a ticket. */
const widthLimit = 100;
const gap = 2;
/** A column that gives way to the others keeps at least this. */
const leastWidth = 12;

export interface Column {
  readonly head: string;
  /** Wider content is wrapped at this width. */
  readonly atMost?: number;
  /** Wrapped as far as it takes for the table to fit. One column of a table. */
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

function fit(columns: readonly Column[], rows: readonly (readonly string[])[]): number[] {
  const wanted = columns.map(({ head, atMost = Infinity }, index) =>
    Math.min(naturalWidth([head, ...rows.map((row) => row[index] ?? '')]), atMost + gap),
  );
  const excess = wanted.reduce((sum, width) => sum + width, 0) - gap - widthLimit;
  return wanted.map((width, index) =>
    columns[index]?.gives === true && excess > 0 ? Math.max(leastWidth, width - excess) : width,
  );
}

/** Rows under their heads, at most 100 columns wide as long as all but the giving column fit. */
export function table(columns: readonly Column[], rows: readonly (readonly string[])[]): string {
  const cells = rows.map((row) => row.map(printable));
  const colWidths = fit(columns, cells);
  const drawn = new Table({ ...plain, colWidths, wordWrap: true });
  const heads = columns.map(({ head }) => head);
  for (const row of heads.every((head) => head === '') ? cells : [heads, ...cells]) {
    drawn.push(
      row.map((content, index) => {
        const room = (colWidths[index] ?? 0) - gap;
        const hAlign = columns[index]?.right === true ? 'right' : 'left';
        return {
          content,
          hAlign,
          wrapOnWordBoundary: content.split(/\s/).every((word) => word.length <= room),
        };
      }),
    );
  }
  return drawn.toString().replace(/ +$/gm, '');
}

/** One thing's values under each other, each behind its name. What has no value is left out. */
export const fields = (values: readonly (readonly [name: string, value: string])[]): string =>
  table(
    [{ head: '' }, { head: '', gives: true }],
    values.filter(([, value]) => value !== ''),
  );
