import { Migration } from '@mikro-orm/migrations';

/** Answers to requests with an idempotency key. */
export class Migration028IdempotencyKeys extends Migration {
  override readonly name = '028-idempotency-keys';

  override up(): void {
    this.addSql(`
create table core.idempotency_keys (
  merchant_id uuid not null,
  environment core.environment not null,
  operation text not null check (operation in ('REGISTER_ORDER', 'START_DIRECT_PAYMENT', 'CREATE_REFUND')),
  key text not null,
  -- SHA-256 of the request's values.
  fingerprint bytea not null,
  -- The response of the RPC in binary protobuf, without checkout URLs: these pay the order.
  answer bytea not null,
  expires_at timestamptz(3) not null,
  primary key (merchant_id, environment, operation, key)
) with (autovacuum_vacuum_scale_factor = 0.02);
create index idempotency_keys_expires on core.idempotency_keys (expires_at);
`);
  }
}
