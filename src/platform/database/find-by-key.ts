import type { EntityManager, EntityName, Primary } from '@mikro-orm/postgresql';
import type { QueryResultRow } from 'pg';
import { ofAnyLength } from './run-statement.ts';
import type { Statement } from './run-statement.ts';
import { runInTransaction, runReading } from './transaction-statement.ts';

/** The statements that find rows of a table by its primary key. */
interface KeyStatements {
  /** The properties of the primary key, in the order of the parameters. */
  readonly key: readonly string[];
  readonly one: Required<Pick<Statement, 'name' | 'text'>>;
  readonly many: Statement;
}

/** The statements of each table, by its name. */
const statements = new Map<string, KeyStatements>();

/**
 * Finds the rows with these primary keys like the ORM's `find`, in any order. The server prepares the statement once for each connection.
 * The ORM builds its statements again each time, and the server plans them again, which is most of the cost of a look-up. Rows that `em` has
 * already are not read again, because `em.map` would overwrite their unsaved changes.
 */
export async function findAllByKey<Row extends object>(
  em: EntityManager,
  entity: EntityName<Row>,
  keys: readonly Partial<Row>[],
): Promise<Row[]> {
  const { key: names, one, many } = statementsFor(em, entity);
  const found: Row[] = [];
  const wanted: unknown[][] = [];
  for (const key of keys) {
    const values = names.map((name) => key[name as keyof Row]);
    const known = em.getUnitOfWork().getById(entity, values as Primary<Row>[]);
    if (known === undefined) wanted.push(values);
    else found.push(known);
  }
  const [first] = wanted;
  if (first === undefined) return found;
  const statement =
    wanted.length === 1
      ? { ...one, values: first }
      : { ...many, values: names.map((_, index) => wanted.map((values) => values[index])) };
  const rows = await runReading<QueryResultRow>(em, statement);
  return [...found, ...rows.map((row) => em.map(entity, row as Parameters<typeof em.map<Row>>[1]))];
}

/**
 * Locks the row with this primary key until the transaction ends, and reads it like the ORM's `findOneOrFail`. Changes of it that `em` has not
 * written yet would be lost.
 * @throws TypeError when there is none
 */
export async function lockByKey<Row extends object>(
  em: EntityManager,
  entity: EntityName<Row>,
  key: Partial<Row>,
): Promise<Row> {
  const { key: names, one } = statementsFor(em, entity);
  const [row] = await runInTransaction<QueryResultRow>(em, {
    name: `lock${one.name.slice('find'.length)}`,
    text: `${one.text} for update`,
    values: names.map((name) => key[name as keyof Row]),
  });
  if (row === undefined) throw new TypeError(`${em.getMetadata(entity).className} has no row with this key`);
  return em.map(entity, row as Parameters<typeof em.map<Row>>[1]);
}

function statementsFor<Row extends object>(em: EntityManager, entity: EntityName<Row>): KeyStatements {
  const { schema, tableName, props, primaryKeys } = em.getMetadata(entity);
  const table = `${schema ?? 'public'}.${tableName}`;
  const known = statements.get(table);
  if (known !== undefined) return known;
  const keys = primaryKeys.flatMap((name) => props.filter((prop) => prop.name === name));
  const columnsOf = (all: readonly { readonly fieldNames: readonly string[] }[]) =>
    all.flatMap(({ fieldNames }) => fieldNames);
  const arrays = keys.map(({ columnTypes: [type] }, index) => `$${index + 1}::${type}[]`);
  const [array = '', ...others] = arrays;
  // Columns are listed, because a prepared `*` fails after a migration has added one.
  const select = `select ${columnsOf(props).join(', ')} from ${table}`;
  const conditions = columnsOf(keys).map((column, index) => `${column} = $${index + 1}`);
  const found: KeyStatements = {
    key: primaryKeys,
    one: { name: `find ${table}`, text: `${select} where ${conditions.join(' and ')}` },
    many: {
      name: `find all ${table}`,
      text: `${select} join unnest(${[ofAnyLength(array), ...others].join(', ')}) as key (${columnsOf(keys).join(', ')}) using (${columnsOf(keys).join(', ')})`,
    },
  };
  statements.set(table, found);
  return found;
}
