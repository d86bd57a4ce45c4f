import type { Language } from './language.ts';

/** A time to wait in words, rounded up so that whoever waits that long has waited long enough: `29 minutes`. */
export function durationText(seconds: number, language: Language): string {
  const [unit, count] =
    seconds < 60
      ? (['second', seconds] as const)
      : seconds < 3600
        ? (['minute', Math.ceil(seconds / 60)] as const)
        : (['hour', Math.ceil(seconds / 3600)] as const);
  return new Intl.NumberFormat(language, { style: 'unit', unit, unitDisplay: 'long' }).format(count);
}
