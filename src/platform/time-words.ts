const units = [
  { ms: 24 * 60 * 60 * 1000, name: 'day' },
  { ms: 60 * 60 * 1000, name: 'hour' },
  { ms: 60 * 1000, name: 'minute' },
  { ms: 1000, name: 'second' },
] as const;

/** The smallest count of a unit that is used. Below it, the next smaller unit is more exact. */
const minCount = 2;

/** A duration in words, such as "3 hours", rounded to the largest unit of which it then contains at least two. */
export function durationWords(ms: number): string {
  const unit = units.find((each) => Math.abs(ms) >= minCount * each.ms - each.ms / 2) ?? units[3];
  const count = Math.round(Math.abs(ms) / unit.ms);
  return `${count} ${unit.name}${count === 1 ? '' : 's'}`;
}

/** A time to the second, in the form of logs. */
export const clockWords = (time: Date): string => `${time.toISOString().slice(0, 19).replace('T', ' ')} UTC`;

/** A time relative to now, and exactly. */
export function timeWords(time: Date, now: Date): string {
  const ms = time.getTime() - now.getTime();
  const distance = ms > 0 ? `in ${durationWords(ms)}` : `${durationWords(ms)} ago`;
  return `${distance} (${clockWords(time)})`;
}
