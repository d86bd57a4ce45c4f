import type { Timestamp } from '@bufbuild/protobuf/wkt';
import type { Command } from 'commander';
import { momentOption, timestampOf } from './moment.ts';
import type { Moment } from './moment.ts';
import { showTime } from './time.ts';

/** The values of `--since` and `--until`, or of their former names `--from` and `--to`. */
export interface PeriodOptions {
  readonly since?: Moment;
  readonly until?: Moment;
  readonly from?: Moment;
  readonly to?: Moment;
}

/**
 * Adds `--since` and `--until` to a list, and their former names, which its help does not show. `things` names its entries and the time of
 * theirs that counts: "orders registered".
 */
export const addPeriod = (list: Command, things: string): Command =>
  list
    .addOption(
      momentOption(
        '--since <time>',
        `only ${things} at this time (UTC) or later, such as 2026-01-31; 24h: in the last 24 hours`,
      ),
    )
    .addOption(
      momentOption('--until <time>', `only ${things} before this time (UTC); 24h: more than 24 hours ago`),
    )
    .addOption(momentOption('--from <time>', '').hideHelp())
    .addOption(momentOption('--to <time>', '').hideHelp());

export interface Period {
  readonly since?: Timestamp;
  readonly until?: Timestamp;
  /**
   * The options that the next page needs instead of the given ones. A page token is valid for the same filters only, and a time span would
   * mean another time by then.
   */
  readonly ofNextPage: string;
}

/** The period of a list, whichever names its options have. A member without an option is absent. */
export function periodOf({ from, since = from, to, until = to }: PeriodOptions, now: Date): Period {
  const given = [
    { name: 'since', moment: since },
    { name: 'until', moment: until },
  ].flatMap(({ name, moment }) =>
    moment === undefined ? [] : [{ name, moment, time: timestampOf(moment, now) }],
  );
  return {
    ...Object.fromEntries(given.map(({ name, time }) => [name, time])),
    ofNextPage: given
      .map(({ name, moment, time }) => ('secondsAgo' in moment ? ` --${name} ${showTime(time)}` : ''))
      .join(''),
  };
}
