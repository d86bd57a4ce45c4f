import { Migration } from '@mikro-orm/migrations';

/** Two operators together can help a user who cannot sign in, and the user is notified. */
export class Migration015AccountHelp extends Migration {
  override readonly name = '015-account-help';

  override up(): void {
    this.addSql(`
alter table core.users add column operator_since timestamptz(3);
update core.users set operator_since = created_at where is_operator;

create type core.account_help_kind as enum ('NEW_PASSWORD', 'REMOVE_SECOND_FACTOR');
create table core.account_help (
  user_id uuid not null references core.users,
  kind core.account_help_kind not null,
  asked_by text not null,
  asked_by_user_id uuid references core.users,
  created_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  primary key (user_id, kind)
);
create index account_help_expiry on core.account_help (expires_at);

create table core.account_notices (
  id uuid primary key,
  user_id uuid not null references core.users,
  event text not null,
  subject text not null,
  created_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  mailed_at timestamptz(3)
);
create index account_notices_user on core.account_notices (user_id, created_at);
create index account_notices_due on core.account_notices (created_at) where mailed_at is null;
create index account_notices_expiry on core.account_notices (expires_at);
`);
  }
}
