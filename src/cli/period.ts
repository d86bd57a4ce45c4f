import type { Timestamp } from '@bufbuild/protobuf/wkt';
import type { Option } from 'commander';
import { timeOption } from './options.ts';

/** The values of `--since` and `--until`, or of their former names `--from` and `--to`. */
export interface PeriodOptions {
  readonly since?: Timestamp;
  readonly until?: Timestamp;
  readonly from?: Timestamp;
  readonly to?: Timestamp;
}

/** `--since` of a list. `things` names its entries and the time of theirs that counts: "orders registered". */
export const sinceOption = (things: string): Option =>
  timeOption('--since <time>', `only ${things} at this time (UTC) or later`);

/** `--until` of a list. */
export const untilOption = (things: string): Option =>
  timeOption('--until <time>', `only ${things} before this time (UTC)`);

/** The former name of `--since`. */
export const formerSinceOption = (): Option => timeOption('--from <time>', '').hideHelp();

/** The former name of `--until`. */
export const formerUntilOption = (): Option => timeOption('--to <time>', '').hideHelp();

/** The period of a list, whichever names its options have. A member without an option is absent. */
export function periodOf({ from, since = from, to, until = to }: PeriodOptions): {
  readonly since?: Timestamp;
  readonly until?: Timestamp;
} {
  return { ...(since && { since }), ...(until && { until }) };
}
