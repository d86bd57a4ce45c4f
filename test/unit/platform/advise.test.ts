import { expect, test } from '@jest/globals';
import { explainedError } from '../../../src/platform/database/snapshot/advise.ts';
import { SnapshotError } from '../../../src/platform/database/snapshot/manifest.ts';

const coded = (code: string, message = 'it failed', cause?: Error): Error =>
  Object.assign(new Error(message, { cause }), { code });

test.each<[string, Error, RegExp, boolean?]>([
  ['a full disk', coded('ENOSPC'), /^Free space on that disk/],
  ['a used up quota', coded('EDQUOT'), /^Free space on that disk/],
  ['a full disk of the database', coded('53100'), /^Free space on the database server's disk/],
  ['a folder of another user', coded('EACCES'), /^Check that your user may read and write/],
  ['a read-only disk', coded('EROFS'), /^Check that your user may read and write/],
  ['a wrong password', coded('28P01'), /^Check the user and the password/],
  ['a user without rights', coded('42501'), /^Use the database's owner/],
  ['a missing database', coded('3D000'), /^Check the name of the database/],
  ['a starting server', coded('57P03'), /^PostgreSQL is starting/],
  ['an old server', coded('42883', 'function uuidv7() does not exist'), /^Use PostgreSQL 18/],
  ['an older server', coded('42704', 'unrecognized parameter "transaction_timeout"'), /^Use PostgreSQL 18/],
  ['a cancelled statement', coded('57014'), /^An administrator or a program cancelled the statement/],
  ['too many connections', coded('53300'), /^The database has no free connection/],
  ['an unknown host', coded('ENOTFOUND'), /^Check the address of the database/, true],
  ['a silent host', new Error('timeout expired'), /^Check the address of the database/, true],
  ['a lost connection', new Error('Connection terminated unexpectedly'), /^Check that PostgreSQL runs/, true],
  ['a stopped server', coded('57P01'), /^Check that PostgreSQL runs/, true],
  ['a certificate', coded('DEPTH_ZERO_SELF_SIGNED_CERT'), /^Check the TLS settings/],
  ['no TLS', new Error('The server does not support SSL connections'), /^Check the TLS settings/],
  ['a malformed URL', coded('ERR_INVALID_URL'), /^Write the URL as postgres:/],
  ['an error within an error', coded('NONE', 'migration failed', coded('53100')), /^Free space on the data/],
  [
    'several addresses of a host',
    new AggregateError([coded('ECONNREFUSED'), coded('ECONNREFUSED')]),
    /^Check the address/,
    true,
  ],
  ['an unknown error', coded('constructor'), /^Correct what the message names/],
])('%s has advice', (_what, error, advice, isUnreachable = false) => {
  const explained = explainedError(error, 'it could not be written', 'Delete it.');

  expect(explained).toBeInstanceOf(SnapshotError);
  expect(explained.message).toMatch(/^it could not be written: ./);
  expect(explained.advice).toMatch(advice);
  expect(explained.advice).toMatch(/\nDelete it\.$/);
  expect(explained.isUnreachable).toBe(isUnreachable);
});
