import { Migration } from '@mikro-orm/migrations';

/** URLs of merchants that receive events of all orders, and deliveries that wait for a signing secret. */
export class Migration005WebhookEndpoints extends Migration {
  override readonly name = '005-webhook-endpoints';

  override up(): void {
    this.addSql(`
-- A webhook endpoint has a lane of its own: lanes.endpoint and deliveries.endpoint are its id.
create table webhooks.webhook_endpoints (
  merchant_id text collate "C" not null,
  id text collate "C" not null,
  environment webhooks.environment not null,
  url text not null,
  description text not null,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  deleted_at timestamptz(3),
  -- When all its deliveries had ended after it was deleted.
  emptied_at timestamptz(3),
  primary key (merchant_id, id),
  check (emptied_at is null or deleted_at is not null)
);
create unique index webhook_endpoints_url on webhooks.webhook_endpoints (merchant_id, environment, url)
  where deleted_at is null;
create index webhook_endpoints_to_empty on webhooks.webhook_endpoints (deleted_at)
  where deleted_at is not null and emptied_at is null;

create table webhooks.webhook_endpoint_types (
  merchant_id text collate "C" not null,
  endpoint_id text collate "C" not null,
  -- '*': every type, also types of later versions.
  event_type text not null,
  since timestamptz(3) not null,
  primary key (merchant_id, endpoint_id, event_type),
  foreign key (merchant_id, endpoint_id) references webhooks.webhook_endpoints
);

alter table webhooks.signing_secrets
  -- Empty: the secret signs the deliveries to orders' webhook_urls.
  add column endpoint_id text collate "C" not null default '';
drop index webhooks.signing_secrets_one_each;
create unique index signing_secrets_one_each
  on webhooks.signing_secrets (merchant_id, environment, endpoint_id, is_current);

alter table webhooks.lanes
  -- Since when its deliveries wait until a signing secret is shown. Nothing is due then.
  add column awaits_secret_since timestamptz(3);
create index lanes_awaiting_secret on webhooks.lanes (merchant_id, environment, endpoint)
  where awaits_secret_since is not null;

-- An event becomes one delivery for each of its receivers, however often it is read.
create unique index deliveries_event_receiver on webhooks.deliveries (merchant_id, event_id, endpoint);
drop index webhooks.deliveries_event;
create index deliveries_webhook_endpoint on webhooks.deliveries (merchant_id, endpoint, id)
  where endpoint like 'whe\\_%';
`);
  }
}
