import { Migration } from '@mikro-orm/migrations';

/** How the wallets are, as those who talk to them last said. */
export class Migration010WalletStatuses extends Migration {
  override readonly name = '010-wallet-statuses';

  override up(): void {
    this.addSql(`
-- Said anew every few seconds: what a crash of the server takes away is soon back, and is not worth a write-ahead log.
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
