import { describe, expect, test } from '@jest/globals';
import { Code } from '@connectrpc/connect';
import { explainDatabaseError } from '../../../src/platform/database/explain-error.ts';

/** An error of Node, as the pool passes it on: sometimes as the cause of another one. */
const errorWith = (code: string): Error =>
  new Error('the statement failed', { cause: Object.assign(new Error(`connect ${code}`), { code }) });

describe('a statement that fails with', () => {
  test.each([
    ...['ECONNREFUSED', 'ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT', 'ENOENT'],
    ...['EHOSTUNREACH', 'ENETUNREACH', 'EHOSTDOWN', 'ENETDOWN'],
    ...['ENOTFOUND', 'EAI_AGAIN', 'EAI_FAIL', 'EAI_MEMORY', 'EAI_SYSTEM'],
    ...['EADDRNOTAVAIL', 'ENOBUFS', 'ENOMEM'],
  ])('%s is to be tried again, because the database does not answer', (code) => {
    expect(explainDatabaseError(errorWith(code))).toMatchObject({
      code: Code.Unavailable,
      rawMessage: 'the database does not answer; try again in a moment',
    });
  });

  test.each([
    ['25006', 'PostgreSQL is read-only'],
    ['53100', 'the disk of PostgreSQL is full'],
    ['53300', 'PostgreSQL has no free connection'],
    ['55P03', 'whether another session holds a lock'],
    ['57014', 'whether another session holds a lock'],
    ['25P04', 'after its transaction_timeout'],
  ])('%s is to be tried again, and the reason is named: %s', (code, reason) => {
    expect(explainDatabaseError(errorWith(code))).toMatchObject({
      code: Code.Unavailable,
      rawMessage: expect.stringContaining(reason),
    });
  });

  test.each(['EMFILE', 'ENFILE'])('%s is to be tried again, after more open files are allowed', (code) => {
    expect(explainDatabaseError(errorWith(code))).toMatchObject({
      code: Code.Unavailable,
      rawMessage: expect.stringContaining('raise its limit of open files'),
    });
  });

  test.each([
    ...['CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
    ...['DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN', 'ERR_TLS_CERT_ALTNAME_INVALID'],
    ...['ERR_SSL_TLSV1_ALERT_UNKNOWN_CA'],
  ])('%s is to be tried again, after the certificates are checked', (code) => {
    expect(explainDatabaseError(errorWith(code))).toMatchObject({
      code: Code.Unavailable,
      rawMessage: expect.stringContaining('check the certificates of PostgreSQL'),
    });
  });

  test('no TLS at PostgreSQL is to be tried again, after its setting is turned on', () => {
    // The words of pg, which has no code for it.
    const cause = new Error('The server does not support SSL connections');
    expect(explainDatabaseError(new Error('the statement failed', { cause }))).toMatchObject({
      code: Code.Unavailable,
      rawMessage: expect.stringContaining('turn on its setting ssl'),
    });
  });

  test.each(['ERR_INVALID_ARG_TYPE', '42601', '23505'])(
    '%s is a mistake in the statement or the code',
    (code) => {
      expect(explainDatabaseError(errorWith(code))).toBeUndefined();
    },
  );
});
