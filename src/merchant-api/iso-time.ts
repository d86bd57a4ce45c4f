import type { Timestamp } from '@bufbuild/protobuf/wkt';

/** ISO 8601 in UTC with milliseconds. Finer fractions are cut off, because a time that is rounded up could lie in the future. */
export const isoTime = ({ seconds, nanos }: Timestamp): string =>
  new Date(Number(seconds) * 1000 + Math.trunc(nanos / 1_000_000)).toISOString();

/** As `isoTime`; empty without a time. */
export const optionalIsoTime = (time: Timestamp | undefined): string =>
  time === undefined ? '' : isoTime(time);
