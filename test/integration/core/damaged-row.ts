/** A row cannot be read because its currency is unknown, or PostgreSQL refuses to change it, as it does after damage. */
export type Damage = 'read' | 'changed';

/** Damages a row, by its stored id. Returns the repair. */
export async function damageRow(
  query: (sql: string) => Promise<unknown>,
  table: string,
  id: string,
  damage: Damage,
): Promise<() => Promise<unknown>> {
  if (damage === 'read') {
    await query(`update core.${table} set currency = 'XXX' where id = '${id}'`);
    return () => query(`update core.${table} set currency = 'ETB' where id = '${id}'`);
  }
  await query(`create or replace function core.refuse_change() returns trigger language plpgsql
    as $$ begin raise data_corrupted; end $$`);
  await query(`
    create trigger refuse_change before update on core.${table} for each row when (old.id = '${id}')
      execute function core.refuse_change()`);
  return () => query(`drop trigger refuse_change on core.${table}`);
}
