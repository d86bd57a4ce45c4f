import { Migration } from '@mikro-orm/migrations';

/** A log of the requests to the merchant API, kept for some days, and the number of requests that were not logged. */
export class Migration005RequestLog extends Migration {
  override readonly name = '005-request-log';

  override up(): void {
    this.addSql(`
create type core.api_endpoint as enum ('REGISTER', 'DIRECT', 'VERIFY');

-- One partition a day, so that old rows are dropped with their table. The ids contain the time of the request (RFC 9562,
-- version 7), so ids are the bounds. src/core/request-log/request-days.ts creates the partitions.
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
-- Most searches are for failed requests, which are few.
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
