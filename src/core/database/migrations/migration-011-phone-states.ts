import { Migration } from '@mikro-orm/migrations';

/**
 * Reads a phone's recent prompts for the limit on prompts. It is a function because its statement is sent in one text with the
 * beginning of a transaction, which PostgreSQL parses and plans each time. The plan of a function is cached per connection.
 */
export class Migration011PhoneStates extends Migration {
  override readonly name = '011-phone-states';

  override up(): void {
    this.addSql(`
create function core.phone_states(
  phones text[], environments core.environment[], merchant_ids uuid[], most integer, since interval
) returns table (busy_ms bigint, first_ago_ms bigint, count bigint)
language plpgsql stable as $$
begin
  return query
  select
    ceil(extract(epoch from recent.prompt_until - now()) * 1000)::bigint,
    floor(extract(epoch from now() - recent.first_at) * 1000)::bigint,
    recent.count
  -- The planner does not see the list's length, so one plan serves all lengths.
  from unnest((select phones), environments, merchant_ids) with ordinality as asked (phone, environment, merchant_id, place)
  cross join lateral (
    select
      max(latest.prompt_until) filter (where latest.status in ('REQUESTED', 'SENT', 'UNKNOWN')) as prompt_until,
      min(latest.created_at) as first_at,
      count(*) as count
    from (
      select a.status, a.prompt_until, a.created_at from core.payment_attempts a
      where a.phone = asked.phone and a.environment = asked.environment
        and a.created_at > now() - since
        and (asked.environment = 'PRODUCTION' or a.merchant_id = asked.merchant_id)
      order by a.created_at desc limit most
    ) latest
  ) recent
  order by asked.place;
end $$;
`);
  }
}
