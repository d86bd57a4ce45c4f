import { Migration } from '@mikro-orm/migrations';

/** Payments without an order whose erasure waits: docs/adr/0045. */
export class Migration051PayerErasures extends Migration {
  override readonly name = '051-payer-erasures';

  override up(): void {
    this.addSql(`
set local lock_timeout = '2s';
-- Payments that payers started whose personal data is to be erased as soon as nothing of them changes any more.
create table core.payer_erasures_due (
  payer_payment_id uuid primary key,
  -- Null when the period has ended, or after an erasure.
  request_id uuid references core.erasure_requests,
  due_at timestamptz(3) not null
);
create index payer_erasures_due_next on core.payer_erasures_due (due_at);
create index payer_erasures_due_request on core.payer_erasures_due (request_id) where request_id is not null;
`);
  }
}
