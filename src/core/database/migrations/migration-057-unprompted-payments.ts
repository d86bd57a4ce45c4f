import { Migration } from '@mikro-orm/migrations';

/** Payments on a page of the wallet, which prompt no phone: docs/adr/0018. */
export class Migration057UnpromptedPayments extends Migration {
  override readonly name = '057-unprompted-payments';

  override up(): void {
    this.addSql(`
set local lock_timeout = '2s';
alter table core.payment_attempts
  drop constraint payment_attempts_prompt_place_check,
  -- Existing rows have one of the other words. To check them would take a lock on the table for long.
  add constraint payment_attempts_prompt_place_check
    check (prompt_place in ('OWN', 'OWN_PAGE', 'COMMON', 'NEW_MERCHANT', 'NEW_NETWORK', 'NO_PROMPT')) not valid;

-- Such an attempt counts neither as a prompt nor as a payment that the phone has confirmed: anyone can enter any number, and pay.
create or replace function core.phone_prompts(
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
        and p.prompt_place is distinct from 'NO_PROMPT'
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
          and a.prompt_place is distinct from 'NO_PROMPT'
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
