import { Migration } from '@mikro-orm/migrations';

/** What operators see of endpoints in trouble, of all merchants, a page at a time. */
export class Migration002EndpointsInTrouble extends Migration {
  override readonly name = '002-endpoints-in-trouble';

  override up(): void {
    this.addSql(`
alter table webhooks.lanes
  -- When the first of the failures in a row ended; null when the latest attempt did not fail.
  add column failing_since timestamptz(3),
  -- How the latest attempt ended, beside its words.
  add column last_attempt_result webhooks.attempt_result,
  -- Whether it is paused for an answer, 410 Gone, and not by somebody.
  add column paused_by_answer boolean not null default false;

-- In the order of the list: what the first key is must be written as in the query.
drop index webhooks.lanes_in_trouble;
create index lanes_in_trouble on webhooks.lanes (
  (case when paused_at is not null then 0 when resting_until is not null then 1 else 2 end),
  merchant_id, environment, endpoint
) where paused_at is not null or resting_until is not null;
`);
  }
}
