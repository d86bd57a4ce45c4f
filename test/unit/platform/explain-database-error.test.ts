import { describe, expect, test } from '@jest/globals';
import { Code } from '@connectrpc/connect';
import { explainDatabaseError } from '../../../src/platform/database/explain-error.ts';

/** An error of Node, as the pool passes it on: sometimes as the cause of another one. */
const errorWith = (code: string): Error =>
  new Error('the statement failed', { cause: Object.assign(new Error(`connect ${code}`), { code }) });

const noAnswer = 'the database does not answer; try again in a moment';
/** The callers log the answer, too. */
const answering = 'the process that answered this call';
const certificates = `check the certificates of PostgreSQL and of ${answering}`;
/** The codes of errors that pass, and what the answer says about them. */
const passing: readonly (readonly [codes: string, words: string])[] = [
  ['ECONNREFUSED ECONNRESET ECONNABORTED EPIPE ETIMEDOUT ENOENT', noAnswer],
  ['EHOSTUNREACH ENETUNREACH EHOSTDOWN ENETDOWN', noAnswer],
  ['ENOTFOUND EAI_AGAIN EAI_FAIL EAI_MEMORY EAI_SYSTEM EADDRNOTAVAIL ENOBUFS ENOMEM', noAnswer],
  [
    '25006',
    `PostgreSQL is read-only: it is a standby, or default_transaction_read_only is on; give ${answering} the`,
  ],
  ['28P01 3D000', `PostgreSQL refuses the connections of ${answering}`],
  ['53100', 'the disk of PostgreSQL is full'],
  ['53300', 'PostgreSQL has no free connection'],
  ['55P03 57014', 'whether another session holds a lock'],
  ['25P04', `after its transaction_timeout; set it to 0 for the role and the database of ${answering}`],
  ['40001 40P01', 'a session that it conflicted with'],
  ['EMFILE ENFILE', `${answering} has no free file descriptor`],
  ['CERT_HAS_EXPIRED', 'the certificate of PostgreSQL has expired'],
  ['ERR_SSL_SSL/TLS_ALERT_CERTIFICATE_EXPIRED', `the certificate of ${answering}, which has expired`],
  ['CERT_NOT_YET_VALID ERR_TLS_CERT_ALTNAME_INVALID', certificates],
  ['DEPTH_ZERO_SELF_SIGNED_CERT SELF_SIGNED_CERT_IN_CHAIN', certificates],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE ERR_SSL_TLSV1_ALERT_UNKNOWN_CA', certificates],
];

describe('a statement that fails with', () => {
  test.each(passing.flatMap(([codes, words]) => codes.split(' ').map((code) => [code, words] as const)))(
    '%s is to be tried again, and the reason is named: %s',
    (code, words) => {
      expect(explainDatabaseError(errorWith(code))).toMatchObject({
        code: Code.Unavailable,
        rawMessage: expect.stringContaining(words),
      });
    },
  );

  test('no TLS at PostgreSQL is to be tried again, after its setting is turned on', () => {
    // The words of pg, which has no code for it.
    const cause = new Error('The server does not support SSL connections');
    expect(explainDatabaseError(new Error('the statement failed', { cause }))).toMatchObject({
      code: Code.Unavailable,
      rawMessage: expect.stringContaining("turn on PostgreSQL's setting ssl"),
    });
  });

  test('a setting that PgBouncer refuses is to be tried again, after PgBouncer ignores it', () => {
    const message = 'unsupported startup parameter: statement_timeout';
    expect(explainDatabaseError(Object.assign(new Error(message), { code: '08P01' }))).toMatchObject({
      code: Code.Unavailable,
      rawMessage: expect.stringContaining('let it ignore them: docs/scaling.md'),
    });
  });

  test.each(['ERR_INVALID_ARG_TYPE', '42601', '23505'])(
    '%s is a mistake in the statement or the code',
    (code) => {
      expect(explainDatabaseError(errorWith(code))).toBeUndefined();
    },
  );
});
