import { ofAnyLength } from './run-statement.ts';
import type { Statement } from './run-statement.ts';

/*
 * Statements over many rows at once, with named parameters. The columns of a list of rows are described once:
 *
 *   const lanes = rowList<Lane>({ endpoint: column('text', (lane) => lane.url), … });
 *   const wake = bulkStatement('wake-lanes', { lane: lanes, delay_ms: scalar<number>('float8') }, (sql) => `
 *     update webhooks.lanes l set … ${sql.delay_ms} … from ${sql.lane} where l.endpoint = lane.endpoint`);
 *   await runStatement(client, wake.with({ lane: due, delay_ms: 500 }));
 *
 * `sql.lane` is `unnest($1::text[], …) as lane (endpoint, …)`, and `sql.delay_ms` is `$2::float8`. The text is written when
 * the module is loaded. A call only builds the values.
 */

type Value = string | number | bigint | boolean | Date | Uint8Array | null | undefined;
type PlainValue = string | number | bigint | Date | null | undefined;

/** A column of a list: its PostgreSQL type, and the array of the rows' values as pg takes it. */
export interface Column<Row> {
  readonly type: string;
  readonly arrayOf: (rows: readonly Row[]) => unknown;
}

/** A column of any values. */
export const column = <Row>(type: string, valueOf: (row: Row) => Value): Column<Row> => ({
  type,
  arrayOf: (rows) => {
    const values: Value[] = [];
    for (const row of rows) values.push(valueOf(row));
    return values;
  },
});

/**
 * A column of values without characters that need escaping in an array literal: our ids, numbers, times and words, never
 * text from a caller. pg would check each value for such characters, and write times in the local zone. This saves both.
 */
export const plainColumn = <Row>(type: string, valueOf: (row: Row) => PlainValue): Column<Row> => ({
  type,
  arrayOf: (rows) => {
    let text = '';
    for (const row of rows) {
      const value = valueOf(row);
      text += text === '' ? '{' : ',';
      text += typeof value === 'object' ? (value?.toISOString() ?? 'null') : String(value ?? 'null');
    }
    return text === '' ? '{}' : `${text}}`;
  },
});

/**
 * A column of texts of any characters, or of bytes. pg would visit each value several times to find out what it is, and
 * replace characters in each.
 */
export const textColumn = <Row>(
  type: 'text' | 'jsonb' | 'bytea',
  valueOf: (row: Row) => string | Buffer | null,
): Column<Row> => ({
  type,
  arrayOf: (rows) => arrayLiteral(rows.map(valueOf)),
});

/** An array as PostgreSQL writes it. */
export const arrayLiteral = (values: readonly (string | Buffer | null)[]): string => {
  let text = '';
  for (const value of values) text += `${text === '' ? '{' : ','}${elementOf(value)}`;
  return text === '' ? '{}' : `${text}}`;
};

/** A value as an element of PostgreSQL's array literals. */
function elementOf(value: string | Buffer | null): string {
  if (value === null) return 'null';
  if (typeof value !== 'string') return `"\\\\x${value.toString('hex')}"`;
  return /["\\]/.test(value) ? `"${value.replace(/["\\]/g, '\\$&')}"` : `"${value}"`;
}

/** A named part of a statement with one or more parameters. */
interface Part<Input> {
  readonly width: number;
  readonly sqlFrom: (position: number, name: string) => string;
  /** Appends the values of the part. */
  readonly addValues: (input: Input, values: unknown[]) => void;
}

export interface RowList<Row> extends Part<readonly Row[]> {
  /** The names of the columns, to write into `insert into … (…) select …`. */
  readonly columns: string;
}

export interface RowListOptions {
  /** Hides the length of the list from the planner. `ofAnyLength` gives the reason. */
  readonly hidesLength?: boolean;
  /** The name of an additional column with the row's number, from 1. */
  readonly ordinal?: string;
}

/** A list of rows, with its columns by their names in the statement. */
export function rowList<Row>(
  columns: Readonly<Record<string, Column<Row>>>,
  { hidesLength = false, ordinal }: RowListOptions = {},
): RowList<Row> {
  const names = Object.keys(columns);
  const each = Object.values(columns);
  return {
    columns: names.join(', '),
    width: each.length,
    sqlFrom: (position, name) => {
      const arrays = each.map(({ type }, index) => {
        const array = `$${position + index}::${type}[]`;
        return hidesLength && index === 0 ? ofAnyLength(array) : array;
      });
      const numbering = ordinal === undefined ? '' : ' with ordinality';
      const aliases = ordinal === undefined ? names : [...names, ordinal];
      return `unnest(${arrays.join(', ')})${numbering} as ${name} (${aliases.join(', ')})`;
    },
    addValues: (rows, values) => {
      for (const { arrayOf } of each) values.push(arrayOf(rows));
    },
  };
}

/** One value, or one array when the type ends in `[]`. */
export const scalar = <Input>(type: string): Part<Input> => ({
  width: 1,
  sqlFrom: (position) => `$${position}::${type}`,
  addValues: (input, values) => {
    values.push(input);
  },
});

type Parts = Readonly<Record<string, Part<never>>>;
type Inputs<P extends Parts> = {
  readonly [Name in keyof P]: P[Name] extends Part<infer Input> ? Input : never;
};

export interface BulkStatement<Input> {
  readonly text: string;
  /** The statement with its values. */
  readonly with: (input: Input) => Statement;
}

/**
 * Writes a statement around its parts. With a name, the server prepares the statement once per connection; without, it is
 * planned at each execution. Throws Error when the statement does not use a part.
 */
export function bulkStatement<P extends Parts>(
  name: string | undefined,
  parts: P,
  write: (sql: Readonly<Record<keyof P, string>>) => string,
): BulkStatement<Inputs<P>> {
  const sql: Record<string, string> = {};
  let position = 1;
  for (const [partName, part] of Object.entries(parts)) {
    sql[partName] = part.sqlFrom(position, partName);
    position += part.width;
  }
  const text = write(sql as Record<keyof P, string>);
  for (const [partName, fragment] of Object.entries(sql)) {
    if (!text.includes(fragment)) throw new Error(`the statement leaves out its part ${partName}:\n${text}`);
  }
  const named = Object.entries<Part<never>>(parts);
  return {
    text,
    with: (input) => {
      const values: unknown[] = [];
      for (const [partName, part] of named) part.addValues(input[partName as keyof P] as never, values);
      return name === undefined ? { text, values } : { name, text, values };
    },
  };
}
