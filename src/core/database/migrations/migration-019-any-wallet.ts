import { Migration } from '@mikro-orm/migrations';

/** Wallets become configuration: options and wallets are text instead of enums of two wallets. */
export class Migration019AnyWallet extends Migration {
  override readonly name = '019-any-wallet';

  override up(): void {
    this.addSql(`
alter table core.payment_attempts alter column payment_option type text using lower(payment_option::text);
alter table core.stray_payments alter column payment_option type text using lower(payment_option::text);
alter table core.reconciliations alter column wallet type text using lower(wallet::text);
alter table core.wallet_statuses alter column wallet type text using lower(wallet::text);
update core.order_counts set payment_option = lower(payment_option) where payment_option <> '';
update core.merchants set
  sandbox_payment_options = lower(sandbox_payment_options::text)::text[],
  production_payment_options = lower(production_payment_options::text)::text[];
drop type core.payment_option;
drop type core.wallet;

alter table core.payment_attempts
  -- The page or text for the payer's next step; null when the wallet prompts the payer's phone.
  add column next_action jsonb,
  -- Facts from callbacks that later queries of the wallet need.
  add column callback_notes text[] not null default '{}';
alter table core.stray_payments
  add column callback_notes text[] not null default '{}';
`);
  }
}
