import { expect, test } from '@jest/globals';
import { checkEncryption } from '../../../src/cli/doctor/doctor-checks.ts';

test.each([
  ['dns:///core.internal:50051', false, ['warning plaintext']],
  ['10.0.0.5:50051', false, ['warning plaintext']],
  ['dns:///core.internal:50051', true, ['ok healthy']],
  ['127.0.0.1:50051', true, ['ok healthy']],
  ['127.0.0.1:50051', false, []],
  ['[::1]:50051', false, []],
])('doctor reports for calls to %s with TLS %s: %j', (address, hasTls, expected) => {
  const findings = checkEncryption('core', address, hasTls);
  expect(findings.map(({ result, code }) => `${result} ${code}`)).toEqual(expected);
  for (const { result, advice } of findings) expect(advice.includes('tls.md')).toBe(result === 'warning');
});
