import { Migration } from '@mikro-orm/migrations';

/** Users of the dashboard, their memberships at merchants, and their sessions. */
export class Migration006Accounts extends Migration {
  override readonly name = '006-accounts';

  override up(): void {
    this.addSql(`
create type core.member_role as enum ('OWNER', 'DEVELOPER', 'VIEWER');
create type core.account_link_kind as enum ('INVITATION', 'RESET');

create table core.users (
  id uuid primary key,
  email text not null check (char_length(email) <= 254),
  email_key text not null unique,
  name text not null check (char_length(name) between 1 and 128),
  language text not null check (language in ('en', 'am')),
  is_operator boolean not null,
  password_hash text not null check (password_hash like '$argon2id$%'),
  totp_secret bytea,
  totp_enabled_at timestamptz(3) check (totp_enabled_at is null or totp_secret is not null),
  totp_last_step integer,
  disabled_at timestamptz(3),
  last_sign_in_at timestamptz(3),
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null
);
create index users_operators on core.users (email_key) where is_operator;

create table core.memberships (
  merchant_id uuid not null references core.merchants,
  user_id uuid not null references core.users,
  role core.member_role not null,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  primary key (merchant_id, user_id)
);
create index memberships_user on core.memberships (user_id);

create table core.account_links (
  hash bytea primary key check (octet_length(hash) = 32),
  kind core.account_link_kind not null,
  email text not null,
  email_key text not null,
  merchant_id uuid references core.merchants,
  role core.member_role,
  removes_totp boolean not null default false,
  created_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  check ((merchant_id is null) = (role is null)),
  check (kind = 'INVITATION' or merchant_id is null)
);
-- One open invitation for each address and merchant. Several resets may be open: a second request must not end the first.
create unique index account_links_invitation on core.account_links (merchant_id, email_key) nulls not distinct
  where kind = 'INVITATION';
create index account_links_email on core.account_links (email_key);
create index account_links_expiry on core.account_links (expires_at);

create table core.recovery_codes (
  user_id uuid not null references core.users,
  hash bytea not null check (octet_length(hash) = 32),
  primary key (user_id, hash)
);

create table core.dashboard_sessions (
  hash bytea primary key check (octet_length(hash) = 32),
  user_id uuid references core.users,
  data bytea not null check (octet_length(data) <= 16384),
  expires_at timestamptz(3) not null,
  ended_at timestamptz(3)
);
create index dashboard_sessions_user on core.dashboard_sessions (user_id) where ended_at is null;
create index dashboard_sessions_expiry on core.dashboard_sessions (expires_at);

-- Counts attempts to sign in. The key is a hash of the account and the address.
create table core.account_tries (
  key bytea primary key check (octet_length(key) = 32),
  tries integer not null,
  ends_at timestamptz(3) not null
);
create index account_tries_end on core.account_tries (ends_at);

-- Entries about operators have no merchant.
alter table core.audit_entries alter column merchant_id drop not null;
`);
  }
}
