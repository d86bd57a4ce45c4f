import { timestampDate } from '@bufbuild/protobuf/wkt';
import type { Timestamp } from '@bufbuild/protobuf/wkt';
import { csvField } from './csv-text.ts';
import { timeFormat } from '../../platform/language/formats.ts';

/** Times as fields in an IANA time zone, such as `2026-11-21 14:05:00`; '' when absent. Spreadsheets have no times with a zone. */
export function csvTimes(timeZone: string): (at: Timestamp | undefined) => string {
  // The Swedish format of dates is that of ISO 8601.
  const format = timeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' });
  return (at) => csvField(at === undefined ? '' : format.format(timestampDate(at)));
}
