import { expect, test } from '@jest/globals';
import { withCertificates } from '../../../src/platform/database/database-tls.ts';

const paths = { ca: '/tls/ca.crt', own: undefined };

test('a URL that is checked against an authority gets the file of the authority', () => {
  expect(withCertificates('postgres://db.example/gatehouse?sslmode=verify-full', paths)).toBe(
    'postgres://db.example/gatehouse?sslmode=verify-full&sslrootcert=%2Ftls%2Fca.crt',
  );
});

test('a text that is no URL stays as it is, so that the connection says what is wrong with it', () => {
  const wrong = 'postgres://gatehouse:p#ss/w@db.example:5432/gatehouse';
  expect(withCertificates(wrong, paths)).toBe(wrong);
});
