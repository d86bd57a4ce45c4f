import { Migration } from '@mikro-orm/migrations';

/** The latest status of each wallet, as the wallets processes report it. */
export class Migration010WalletStatuses extends Migration {
  override readonly name = '010-wallet-statuses';

  override up(): void {
    this.addSql(`
-- Unlogged, because the status is reported every few seconds. After a crash the next report restores it.
create unlogged table core.wallet_statuses (
  environment core.environment not null,
  wallet core.wallet not null,
  instance text not null,
  reported_at timestamptz(3) not null,
  window_ms integer not null,
  payload bytea not null,
  primary key (environment, wallet, instance)
);
`);
  }
}
