/** East Africa Time is three hours ahead of UTC, without daylight saving time. */
const offsetMs = 3 * 60 * 60 * 1000;

/** The same, as the end of an ISO time. */
export const eatOffset = '+03:00';

/** A time as M-Pesa writes it, `YYYYMMDDHHmmss` in East Africa Time. */
export const compactTime = (time: Date): string => eastAfrican(time).replace(/[-T:]/g, '').slice(0, 14);

/** A time as the statement's queries write it, `YYYY-MM-DD HH:mm:ss` in East Africa Time. */
export const spacedTime = (time: Date): string => eastAfrican(time).replace('T', ' ').slice(0, 19);

/** Reads `YYYYMMDDHHmmss` in East Africa Time; undefined for other texts. */
export function readCompactTime(text: string): Date | undefined {
  const match = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)$/.exec(text);
  if (match === null) return undefined;
  const [year = '', month = '', day = '', hour = '', minute = '', second = ''] = match.slice(1);
  const utc = new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  return Number.isNaN(utc.getTime()) ? undefined : new Date(utc.getTime() - offsetMs);
}

const eastAfrican = (time: Date): string => new Date(time.getTime() + offsetMs).toISOString();
