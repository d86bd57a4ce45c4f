import { Migration } from '@mikro-orm/migrations';

/** How customers reach a merchant. An empty text means that the merchant has not given one. */
export class Migration013MerchantContact extends Migration {
  override readonly name = '013-merchant-contact';

  override up(): void {
    this.addSql(`
alter table core.merchants
  add column contact_phone text not null default '',
  add column contact_email text not null default '';
`);
  }
}
