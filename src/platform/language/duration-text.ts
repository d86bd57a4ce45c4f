import type { Language } from './language.ts';

/** A waiting time in words, such as `29 minutes`. It is rounded up, so that the reader never waits too briefly. */
export function durationText(seconds: number, language: Language): string {
  const [unit, count] =
    seconds < 60
      ? (['second', seconds] as const)
      : seconds < 3600
        ? (['minute', Math.ceil(seconds / 60)] as const)
        : (['hour', Math.ceil(seconds / 3600)] as const);
  return new Intl.NumberFormat(language, { style: 'unit', unit, unitDisplay: 'long' }).format(count);
}
