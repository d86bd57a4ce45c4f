const units = [
  { ms: 24 * 60 * 60 * 1000, name: 'day' },
  { ms: 60 * 60 * 1000, name: 'hour' },
  { ms: 60 * 1000, name: 'minute' },
  { ms: 1000, name: 'second' },
] as const;

/** From so many of a unit on, the next smaller one tells nothing more. */
const enough = 2;

/** A length of time as people say it: the largest unit there are two of, rounded. */
export function durationWords(ms: number): string {
  const unit = units.find((each) => Math.abs(ms) >= enough * each.ms - each.ms / 2) ?? units[3];
  const count = Math.round(Math.abs(ms) / unit.ms);
  return `${count} ${unit.name}${count === 1 ? '' : 's'}`;
}

/** A time as a log has it, to the second. */
const clockWords = (time: Date): string => `${time.toISOString().slice(0, 19).replace('T', ' ')} UTC`;

/** How long ago or how soon, and when exactly. */
export function timeWords(time: Date, now: Date): string {
  const ms = time.getTime() - now.getTime();
  const distance = ms > 0 ? `in ${durationWords(ms)}` : `${durationWords(ms)} ago`;
  return `${distance} (${clockWords(time)})`;
}
