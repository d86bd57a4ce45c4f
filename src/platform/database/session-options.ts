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

const written = Object.entries(settings)
  .map(([name, value]) => `-c ${name}=${value.replaceAll(' ', String.raw`\ `)}`)
  .join(' ');

/**
 * The settings in the form of a connection's startup parameter `options`, after those that the URL of the database has. Of two values,
 * the last one counts.
 */
export function sessionOptions(url: string): string {
  const given = new URL(url).searchParams.get('options');
  return given === null ? written : `${given} ${written}`;
}

/** The URL with these options, for a driver that prefers the options of the URL to others. */
export function withSessionOptions(url: string): string {
  const changed = new URL(url);
  changed.searchParams.set('options', sessionOptions(url));
  return changed.href;
}

/** Removes the time limits of a session for work on whole tables, which may take hours. The role or the database may have such limits. */
export const withoutTimeLimits =
  'set statement_timeout = 0; set idle_in_transaction_session_timeout = 0; set transaction_timeout = 0; set idle_session_timeout = 0; set lock_timeout = 0';
