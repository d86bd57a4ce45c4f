import { Migration } from '@mikro-orm/migrations';

/** The latest certification of each merchant, part by part. */
export class Migration031Certifications extends Migration {
  override readonly name = '031-certifications';

  override up(): void {
    this.addSql(`
set local lock_timeout = '2s';
create table core.certifications (
  merchant_id uuid not null references core.merchants (id),
  part text not null check (part in ('receiver', 'integration')),
  certified boolean not null,
  webhook_url text not null,
  api_version text not null,
  -- The checks in the order in which they ran: [{"name": …, "result": …}].
  checks jsonb not null,
  recorded_at timestamptz(3) not null,
  primary key (merchant_id, part)
);
`);
  }
}
