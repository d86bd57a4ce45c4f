const minuteMs = 60_000;
export const dayMs = 24 * 60 * minuteMs;

/** How far the clocks of a time zone are ahead of UTC at a time, in milliseconds. */
function offsetMs(at: Date, timeZone: string): number {
  const parts = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
  }).formatToParts(at);
  const part = (type: Intl.DateTimeFormatPartTypes): number =>
    Number(parts.find((each) => each.type === type)?.value);
  const local = Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'));
  return local - Math.floor(at.getTime() / minuteMs) * minuteMs;
}

/** When the day of a time began in a time zone. */
export function startOfDay(at: Date, timeZone: string): Date {
  const offset = offsetMs(at, timeZone);
  return new Date(Math.floor((at.getTime() + offset) / dayMs) * dayMs - offset);
}

/** When a day written as 2026-11-21 begins in a time zone; undefined when it is no day. */
export function dayNamed(text: string, timeZone: string): Date | undefined {
  if (!/^[0-9]{4}-[0-9]{2}-[0-9]{2}$/.test(text)) return undefined;
  const utc = new Date(`${text}T00:00:00Z`);
  if (Number.isNaN(utc.getTime()) || utc.toISOString().slice(0, 10) !== text) return undefined;
  return new Date(utc.getTime() - offsetMs(utc, timeZone));
}
