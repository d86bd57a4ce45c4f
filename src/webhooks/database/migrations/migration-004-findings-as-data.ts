import { Migration } from '@mikro-orm/migrations';

/** What the reconciler found, as a code with facts. */
export class Migration004FindingsAsData extends Migration {
  override readonly name = '004-findings-as-data';

  override up(): void {
    this.addSql(`
alter table webhooks.findings
  -- Empty on findings of an earlier version, which are text alone.
  add column code text collate "C" not null default '',
  add column event_id text collate "C" not null default '',
  add column facts jsonb not null default '{}';
`);
  }
}
