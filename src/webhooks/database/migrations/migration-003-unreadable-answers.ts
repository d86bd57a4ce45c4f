import { Migration } from '@mikro-orm/migrations';

/** Attempts whose answer was not valid HTTP. */
export class Migration003UnreadableAnswers extends Migration {
  override readonly name = '003-unreadable-answers';

  override up(): void {
    this.addSql(`alter type webhooks.attempt_result add value if not exists 'UNREADABLE'`);
  }
}
