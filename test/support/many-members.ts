import { queryOnce } from './database-connections.ts';
import { storedId } from './ids.ts';
import { sql } from './sql.ts';

/**
 * Adds viewers to a merchant, whose addresses begin with `a1000_`, `a1001_` and so on, and whose names are `Person 1000`, `Person 1001`
 * and so on. They cannot sign in.
 */
export async function addMembers(databaseUrl: string, merchantId: string, count: number): Promise<void> {
  await queryOnce(
    databaseUrl,
    sql`
      with made as (
        insert into core.users (id, email, email_key, name, language, is_operator, password_hash, created_at, updated_at)
        select gen_random_uuid(), address, address, 'Person ' || number, 'en', false, '$argon2id$v=19$m=8,t=1,p=1$' || repeat('A', 22) || '$' || repeat('A', 43), now(), now()
        from generate_series(1000, 999 + ${count}::int) number, concat('a', number, '_', ${merchantId}::text, '@many.example') address
        returning id)
      insert into core.memberships (merchant_id, user_id, role, created_at, updated_at)
      select ${storedId('mer', merchantId)}, id, 'VIEWER', now(), now() from made`,
  );
}
