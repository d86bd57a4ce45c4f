import type { EntityName } from '@mikro-orm/postgresql';
import { arrayLiteral, bulkStatement, plainColumn, rowList, textColumn } from './bulk-statement.ts';
import type { Column } from './bulk-statement.ts';
import type { Statement } from './run-statement.ts';
import type { UnwrittenRows } from './unwritten-rows.ts';

/** Writes some of the ORM's rows with a prepared statement, which can share a round trip with others. */
export type RowWriter = (unwritten: UnwrittenRows) => {
  readonly count: number;
  /** The statement that writes these rows, of which there is at least one. */
  readonly statement: () => Statement;
};

/** A column to write: its values are cast to `storedType` if that differs. */
type WrittenColumn<Row> = Column<Row> & { readonly storedType?: string };

/** A column of lists of texts. PostgreSQL has no arrays of arrays that differ in length. */
export const textsColumn = <Row>(valueOf: (row: Row) => readonly string[]): WrittenColumn<Row> => ({
  ...textColumn('text', (row: Row) => arrayLiteral(valueOf(row))),
  storedType: 'text[]',
});

/** Inserts the new rows of an entity. The columns are named by its properties. The others get their defaults. */
export function createdRows<Row extends object>(
  entity: EntityName<Row>,
  table: string,
  properties: Partial<Record<keyof Row, WrittenColumn<Row>>>,
): RowWriter {
  const created = rowList<Row>(namedColumns(properties));
  const statement = bulkStatement(
    `insert ${table}`,
    { created },
    (sql) => `insert into ${table} (${created.columns}) select ${created.columns} from ${sql.created}`,
  );
  return (unwritten) => {
    const rows = unwritten.createdOf(entity);
    return { count: rows.length, statement: () => statement.with({ created: rows }) };
  };
}

/** Updates the rows of an entity in which no properties but these have changed. */
export function changedRows<Row extends { readonly merchantId: string; readonly id: string }>(
  entity: EntityName<Row>,
  table: string,
  properties: Partial<Record<keyof Row, WrittenColumn<Row>>>,
): RowWriter {
  const names = new Set(Object.keys(properties) as (keyof Row & string)[]);
  const assignments = [...names].map((property) => {
    const name = columnNamed(property);
    const type = properties[property]?.storedType;
    return `${name} = changed.${name}${type === undefined ? '' : `::${type}`}`;
  });
  const key = {
    merchant_id: plainColumn<Row>('uuid', (row) => row.merchantId),
    id: plainColumn<Row>('uuid', (row) => row.id),
  };
  const statement = bulkStatement(
    `update ${table}`,
    { changed: rowList<Row>({ ...key, ...namedColumns(properties) }, { hidesLength: true }) },
    (sql) => `
update ${table} stored set ${assignments.join(', ')}
from ${sql.changed}
where stored.merchant_id = changed.merchant_id and stored.id = changed.id`,
  );
  return (unwritten) => {
    const rows = unwritten.changedOf(entity, names);
    return { count: rows.length, statement: () => statement.with({ changed: rows }) };
  };
}

const columnNamed = (property: string): string =>
  property.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

const namedColumns = <Row>(properties: Partial<Record<keyof Row, WrittenColumn<Row>>>) =>
  Object.fromEntries(
    Object.entries(properties as Record<string, WrittenColumn<Row>>).map(([property, column]) => [
      columnNamed(property),
      column,
    ]),
  );
