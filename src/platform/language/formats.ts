import { LRUCache } from 'lru-cache';
import { atMost } from '../at-most.ts';

/** Pages have two languages, one time zone, and few currencies and styles. A wallet may report other currencies. */
const maxKept = 200;

/**
 * Creates each format once for a language and options. A format takes up to a millisecond to create. That of a time takes 30 kB outside of
 * Node's heap, so Node sees no reason to free it. With a format for each row of a table, a few hundred pages took 500 MB.
 */
function keepFormats<Options extends object, Format extends object>(
  create: (language: string, options: Options) => Format,
): (language: string, options: Options) => Format {
  const formats = new LRUCache<string, Format>(atMost(maxKept));
  return (language, options) => {
    const key = JSON.stringify([language, options]);
    const kept = formats.get(key);
    if (kept !== undefined) return kept;
    const created = create(language, options);
    formats.set(key, created);
    return created;
  };
}

const numberFormats = keepFormats(
  (language, options: Intl.NumberFormatOptions) => new Intl.NumberFormat(language, options),
);
const timeFormats = keepFormats(
  (language, options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat(language, options),
);

/** The format of numbers with these options. @throws RangeError for options that Intl refuses */
export const numberFormat = (language: string, options: Intl.NumberFormatOptions = {}): Intl.NumberFormat =>
  numberFormats(language, options);

/** The format of times with these options. @throws RangeError for options that Intl refuses */
export const timeFormat = (language: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat =>
  timeFormats(language, options);
