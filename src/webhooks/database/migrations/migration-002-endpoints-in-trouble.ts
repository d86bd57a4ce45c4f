import { Migration } from '@mikro-orm/migrations';

/** Failing endpoints of all merchants, listed for operators in pages. */
export class Migration002EndpointsInTrouble extends Migration {
  override readonly name = '002-endpoints-in-trouble';

  override up(): void {
    this.addSql(`
alter table webhooks.lanes
  -- When the first of the failures in a row ended; null when the latest attempt did not fail.
  add column failing_since timestamptz(3),
  -- The outcome of the latest attempt as a code, beside its text.
  add column last_attempt_result webhooks.attempt_result,
  -- Whether the answer 410 Gone paused the endpoint, instead of a person.
  add column paused_by_answer boolean not null default false;

-- In the order of the list. The first expression must equal the one in the query.
drop index webhooks.lanes_in_trouble;
create index lanes_in_trouble on webhooks.lanes (
  (case when paused_at is not null then 0 when resting_until is not null then 1 else 2 end),
  merchant_id, environment, endpoint
) where paused_at is not null or resting_until is not null;
`);
  }
}
