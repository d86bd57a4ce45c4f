import { describe, expect, test } from '@jest/globals';
import {
  certificationChecks,
  certificationParts,
  isCertified,
  optionalChecks,
} from '../../../src/contract/certification-checks.ts';
import type { CheckName, CheckResult } from '../../../src/contract/certification-checks.ts';

const cases = certificationParts.flatMap((part) =>
  certificationChecks[part].map((name): [typeof part, CheckName] => [part, name]),
);

describe.each(cases)('a run of the part %s in which only %s did not pass', (part, name) => {
  const others = certificationChecks[part]
    .filter((each) => each !== name)
    .map((each) => ({ name: each, result: 'passed' as const }));
  const certifiedWith = (...results: CheckResult[]): boolean =>
    isCertified(part, [...others, ...results.map((result) => ({ name, result }))]);

  test('certifies the part when it passed, or when an optional check was not tested', () => {
    expect(certifiedWith('passed')).toBe(true);
    expect(certifiedWith('not_tested')).toBe(optionalChecks.includes(name));
  });

  test('does not certify it when the check failed or is missing', () => {
    expect(certifiedWith('failed')).toBe(false);
    expect(certifiedWith()).toBe(false);
  });
});

test('checks of another version are ignored', () => {
  const all = certificationChecks.receiver.map((name) => ({ name, result: 'passed' as const }));

  expect(isCertified('receiver', [...all, { name: 'invented_later', result: 'failed' }])).toBe(true);
  expect(isCertified('receiver', [{ name: 'invented_later', result: 'passed' }])).toBe(false);
});
