import type { EntityManager, EntityName } from '@mikro-orm/postgresql';
import type { Pool } from 'pg';

interface KeyStatement {
  readonly name: string;
  readonly text: string;
  /** The properties of the primary key, in the order of the parameters. */
  readonly key: readonly string[];
}

/** By the table's name. */
const statements = new Map<string, KeyStatement>();

/**
 * Finds the row with this primary key like the ORM's `findOne`, outside of transactions. The server prepares the statement once for each
 * connection. The ORM builds its statements anew each time, and the server plans them anew, which is most of the cost of a look-up.
 */
export async function findByKey<Row extends object>(
  { em, pool }: { readonly em: EntityManager; readonly pool: Pool },
  entity: EntityName<Row>,
  key: Partial<Row>,
): Promise<Row | null> {
  const { key: names, ...statement } = statementFor(em, entity);
  const values = names.map((name) => key[name as keyof Row]);
  const { rows } = await pool.query<object>({ ...statement, values });
  const [found] = rows;
  return found === undefined ? null : em.map(entity, found as Parameters<typeof em.map<Row>>[1]);
}

function statementFor<Row extends object>(em: EntityManager, entity: EntityName<Row>): KeyStatement {
  const { schema, tableName, props, primaryKeys } = em.getMetadata(entity);
  const table = `${schema ?? 'public'}.${tableName}`;
  const known = statements.get(table);
  if (known !== undefined) return known;
  // Columns are listed, because a prepared `*` fails after a migration has added one.
  const columns = props.flatMap(({ fieldNames }) => fieldNames);
  const conditions = primaryKeys.map((name, index) => {
    const [column] = props.find((prop) => prop.name === name)?.fieldNames ?? [];
    return `${column} = $${index + 1}`;
  });
  const text = `select ${columns.join(', ')} from ${table} where ${conditions.join(' and ')}`;
  const statement = { name: `find ${table}`, text, key: primaryKeys };
  statements.set(table, statement);
  return statement;
}
