import type { Language } from './language.ts';
import { numberFormat } from './formats.ts';

const unitSeconds = { day: 86_400, hour: 3600, minute: 60, second: 1 } as const;
type Unit = keyof typeof unitSeconds;
const units: readonly Unit[] = ['day', 'hour', 'minute', 'second'];

/** A waiting time in words, such as `29 minutes`. It is rounded up, so that the reader never waits too briefly. */
export function waitText(seconds: number, language: Language): string {
  const unit = seconds < 60 ? 'second' : seconds < 3600 ? 'minute' : 'hour';
  return countText(Math.ceil(seconds / unitSeconds[unit]), unit, language);
}

/** A duration or an age in its two largest units, such as `1 hour, 30 minutes` or `29 days`. Smaller units are left out. */
export function durationText(seconds: number, language: Language): string {
  const whole = Math.floor(seconds);
  const first = units.findIndex((unit) => whole >= unitSeconds[unit]);
  if (first === -1) return countText(0, 'second', language);
  let left = whole;
  const texts = units.slice(first, first + 2).flatMap((unit) => {
    const count = Math.floor(left / unitSeconds[unit]);
    left -= count * unitSeconds[unit];
    return count === 0 ? [] : [countText(count, unit, language)];
  });
  return new Intl.ListFormat(language, { type: 'unit' }).format(texts);
}

function countText(count: number, unit: Unit, language: Language): string {
  // The Unicode data has the plural for one day.
  if (language === 'am' && unit === 'day' && count === 1) return '1 ቀን';
  return numberFormat(language, { style: 'unit', unit, unitDisplay: 'long' }).format(count);
}
