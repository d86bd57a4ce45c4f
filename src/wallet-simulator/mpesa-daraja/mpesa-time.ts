const eastAfricaMs = 3 * 60 * 60 * 1000;

/** `YYYYMMDDHHmmss` in East Africa Time. */
export const compactTime = (time: Date): string =>
  new Date(time.getTime() + eastAfricaMs).toISOString().replace(/[-T:]/g, '').slice(0, 14);

/** `DD.MM.YYYY HH:mm:ss` in East Africa Time. */
export function dottedTime(time: Date): string {
  const [date = '', clock = ''] = new Date(time.getTime() + eastAfricaMs)
    .toISOString()
    .slice(0, 19)
    .split('T');
  return `${date.split('-').reverse().join('.')} ${clock}`;
}

/** Reads `YYYY-MM-DD HH:mm:ss` in East Africa Time; undefined for other texts. */
export function readSpacedTime(text: string): Date | undefined {
  if (!/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/.test(text)) return undefined;
  const time = new Date(`${text.replace(' ', 'T')}Z`);
  return Number.isNaN(time.getTime()) ? undefined : new Date(time.getTime() - eastAfricaMs);
}
