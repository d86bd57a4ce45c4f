import { Migration } from '@mikro-orm/migrations';

/** A function for the index with which a phone number is searched in the texts of payments that payers started. */
export class Migration044SevenDigits extends Migration {
  override readonly name = '044-seven-digits';

  override up(): void {
    this.addSql(`
set local lock_timeout = '2s';
-- Every seven digits in a row. A number that a text contains has all of its own among them, in whatever form the text has it. No phone
-- number has fewer than seven digits.
create function core.seven_digits(texts text[]) returns text[] language sql immutable strict parallel safe
return array(
  select distinct substr(run[1], at, 7)
  from unnest(texts) as text_of, regexp_matches(text_of, '[0-9]{7,}', 'g') as run, generate_series(1, length(run[1]) - 6) as at
);
`);
  }
}
