import type { EntityManager, EntityName } from '@mikro-orm/postgresql';
import type { Pool } from 'pg';

/** The statement of each table. */
const statements = new Map<string, { readonly name: string; readonly text: string }>();

/**
 * Finds the row with this key like the ORM's `findOne`, outside of transactions. The server prepares the statement once for each connection.
 * The ORM builds its statements anew each time, and the server plans them anew, which is most of the cost of a look-up.
 * `key` has all properties of the primary key, in the same order at every call.
 */
export async function findByKey<Row extends object>(
  { em, pool }: { readonly em: EntityManager; readonly pool: Pool },
  entity: EntityName<Row>,
  key: Partial<Row>,
): Promise<Row | null> {
  const { rows } = await pool.query<object>({
    ...statementFor(em, entity, Object.keys(key)),
    values: Object.values(key),
  });
  const [found] = rows;
  return found === undefined ? null : em.map(entity, found as Parameters<typeof em.map<Row>>[1]);
}

function statementFor<Row extends object>(
  em: EntityManager,
  entity: EntityName<Row>,
  key: readonly string[],
): { readonly name: string; readonly text: string } {
  const { schema, tableName, props } = em.getMetadata(entity);
  const table = `${schema ?? 'public'}.${tableName}`;
  const known = statements.get(table);
  if (known !== undefined) return known;
  // Columns are listed, because a prepared `*` fails after a migration has added one.
  const columns = props.flatMap(({ fieldNames }) => fieldNames);
  const conditions = key.map((name, index) => {
    const [column] = props.find((prop) => prop.name === name)?.fieldNames ?? [];
    return `${column} = $${index + 1}`;
  });
  const text = `select ${columns.join(', ')} from ${table} where ${conditions.join(' and ')}`;
  const statement = { name: `find ${table}`, text };
  statements.set(table, statement);
  return statement;
}
