import { Migration } from '@mikro-orm/migrations';

/** The reconciler's findings as a code and facts. */
export class Migration004FindingsAsData extends Migration {
  override readonly name = '004-findings-as-data';

  override up(): void {
    this.addSql(`
alter table webhooks.findings
  -- Empty on findings of an earlier version, which have only text.
  add column code text collate "C" not null default '',
  add column event_id text collate "C" not null default '',
  add column facts jsonb not null default '{}';
`);
  }
}
