import { describe, expect, test } from '@jest/globals';
import { accessRules } from '../../../src/dashboard/access/access-rules.ts';
import type { AccessRule } from '../../../src/dashboard/access/access-rule.ts';
import { team as amharic } from '../../../src/dashboard/language/amharic/team.ts';
import { team as english } from '../../../src/dashboard/language/english/team.ts';

/** The words of a hint by the part of a path that they stand for. */
const areas: readonly (readonly [path: RegExp, english: string, amharic: string])[] = [
  [/\/orders\/:orderId\/cancel$/, 'orders', 'ትዕዛዞች'],
  [/\/orders\/:orderId\/refund$/, 'refunds', 'ገንዘብ መመለስ'],
  [/\/links$/, 'payment links', 'የክፍያ ሊንኮች'],
  [/\/keys$/, 'keys', 'ቁልፎች'],
  [/\/webhooks$/, 'webhooks', 'ዌብሁኮች'],
  [/\/requests$/, 'the request log', 'የጥያቄዎች መዝገብ'],
];

const rulesOf = (path: RegExp): readonly AccessRule[] =>
  Object.entries(accessRules).flatMap(([route, rule]) => (path.test(route) ? [rule] : []));

const isFor = (role: 'developer' | 'viewer') => (rule: AccessRule) =>
  rule.who === 'member' && rule.role === role;

describe('the hint about a role', () => {
  test.each(areas)('names what a developer may do at %p', (path, inEnglish, inAmharic) => {
    expect(rulesOf(path).some(isFor('developer'))).toBe(true);
    expect(english.roleHints.developer).toContain(inEnglish);
    expect(amharic.roleHints.developer).toContain(inAmharic);
  });

  test.each([
    ['keys', /\/keys$/],
    ['webhooks', /\/webhooks$/],
    ['request log', /\/requests$/],
  ])('does not promise %s to a viewer', (word, path) => {
    expect(rulesOf(path).some(isFor('viewer'))).toBe(false);
    expect(english.roleHints.viewer).not.toContain(word);
  });
});
