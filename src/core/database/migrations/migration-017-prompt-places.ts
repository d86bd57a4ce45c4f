import { Migration } from '@mikro-orm/migrations';

/** Which merchant prompted a phone, from which share of its limit, and which merchants the phone has paid: docs/adr/0018. */
export class Migration017PromptPlaces extends Migration {
  override readonly name = '017-prompt-places';

  override up(): void {
    this.addSql(`
alter table core.payment_attempts
  -- The customer's network at checkout, as a keyed hash; null for a direct payment.
  add column network text,
  -- Null on rows that cores of the previous version insert. Null means COMMON.
  add column prompt_place text
    check (prompt_place in ('OWN', 'OWN_PAGE', 'COMMON', 'NEW_MERCHANT', 'NEW_NETWORK'));
create index payment_attempts_paid on core.payment_attempts (phone, merchant_id, environment)
  where status = 'SUCCEEDED';

-- Cores of the previous version still call core.phone_states. Migration 011 says why this is a function.
create function core.phone_prompts(
  phones text[], environments core.environment[], merchant_ids uuid[], most integer, since interval
) returns table (has_paid boolean, prompts jsonb)
language plpgsql stable as $$
begin
  return query
  select
    exists (
      select from core.payment_attempts p
      where p.phone = asked.phone and p.merchant_id = asked.merchant_id and p.environment = asked.environment
        and p.status = 'SUCCEEDED' and p.created_at > now() - interval '180 days'
    ),
    (
      select jsonb_agg(jsonb_build_object(
        'merchantId', latest.merchant_id,
        'network', case when latest.origin = 'CHECKOUT' then coalesce(latest.network, '') end,
        'place', coalesce(latest.prompt_place, 'COMMON'),
        'agoMs', floor(extract(epoch from now() - latest.created_at) * 1000)::bigint,
        'openMs', case when latest.status in ('REQUESTED', 'SENT', 'UNKNOWN')
          then greatest(0, ceil(extract(epoch from latest.prompt_until - now()) * 1000))::bigint else 0 end,
        'wasConfirmed', latest.status = 'SUCCEEDED'
      ))
      from (
        select a.merchant_id, a.origin, a.network, a.prompt_place, a.created_at, a.status, a.prompt_until
        from core.payment_attempts a
        where a.phone = asked.phone and a.environment = asked.environment
          and a.created_at > now() - since
          and (asked.environment = 'PRODUCTION' or a.merchant_id = asked.merchant_id)
        order by a.created_at desc limit most
      ) latest
    )
  -- The planner does not see the list's length, so one plan serves all lengths.
  from unnest((select phones), environments, merchant_ids) with ordinality as asked (phone, environment, merchant_id, place)
  order by asked.place;
end $$;
`);
  }
}
