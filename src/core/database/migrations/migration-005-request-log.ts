import { Migration } from '@mikro-orm/migrations';

/** What merchants asked of the merchant API, for some days; and how much of it was not kept. */
export class Migration005RequestLog extends Migration {
  override readonly name = '005-request-log';

  override up(): void {
    this.addSql(`
create type core.api_endpoint as enum ('REGISTER', 'DIRECT', 'VERIFY');

-- By day, so that what is too old goes with a table and not row by row. The ids say when a request came (RFC 9562,
-- version 7), so the bounds are ids. The days are made as they come; see src/core/request-log/request-days.ts.
create table core.api_requests (
  merchant_id uuid not null,
  environment core.environment not null,
  id uuid not null,
  api_key_id uuid not null,
  request_id text collate "C" not null,
  endpoint core.api_endpoint not null,
  method text not null,
  path text not null,
  status smallint not null,
  reason text not null,
  duration_micros bigint not null,
  order_number text collate "C" not null,
  request_body text not null,
  response_body text not null,
  primary key (merchant_id, environment, id)
) partition by range (id);
create index api_requests_order_number on core.api_requests (merchant_id, environment, order_number, id)
  where order_number <> '';
create index api_requests_request_id on core.api_requests (merchant_id, environment, request_id);
-- What people look for, among many that went well.
create index api_requests_not_well on core.api_requests (merchant_id, environment, id) where status >= 400;

create table core.api_requests_unkept (
  merchant_id uuid not null,
  environment core.environment not null,
  hour timestamptz(0) not null,
  count bigint not null,
  primary key (merchant_id, environment, hour)
);
`);
  }
}
