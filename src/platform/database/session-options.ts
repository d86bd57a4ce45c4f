/**
 * Settings of every session, whatever the server, the database or the role has as its default. The driver reads times in ISO form
 * only. With another DateStyle, a time is null, or its day and month are exchanged. The other settings change the precision of numbers,
 * what array literals and texts mean, or when concurrent changes of an order fail.
 */
const settings = {
  DateStyle: 'ISO',
  IntervalStyle: 'postgres',
  extra_float_digits: '1',
  standard_conforming_strings: 'on',
  array_nulls: 'on',
  default_transaction_isolation: 'read committed',
} as const;

/** The settings in the form of a connection's startup parameter `options`. */
export const sessionOptions = Object.entries(settings)
  .map(([name, value]) => `-c ${name}=${value.replaceAll(' ', String.raw`\ `)}`)
  .join(' ');
