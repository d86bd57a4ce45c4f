import { create } from '@bufbuild/protobuf';
import { timestampDate } from '@bufbuild/protobuf/wkt';
import { describe, expect, test } from '@jest/globals';
import { audit as amharic } from '../../../src/dashboard/language/amharic/audit.ts';
import { audit as english } from '../../../src/dashboard/language/english/audit.ts';
import { knownActions } from '../../../src/dashboard/language/audit-words.ts';
import { auditQuery, auditTimes, readAuditFilter } from '../../../src/dashboard/organisation/audit-filter.ts';
import { auditActor, auditSentence } from '../../../src/dashboard/organisation/audit-sentences.ts';
import { AuditEntrySchema } from '../../../src/gen/gatehouse/v1/audit_service_pb.js';

const entry = (own: object) => create(AuditEntrySchema, { targetId: 'usr_1', ...own });

describe('a sentence of the audit log', () => {
  test.each([
    ['English', english, 'en' as const],
    ['Amharic', amharic, 'am' as const],
  ])('in %s has no open placeholder, whatever an entry has', (_name, words, language) => {
    for (const action of knownActions) {
      const sentence = auditSentence(entry({ action }), words, language);
      expect(sentence).not.toMatch(/undefined|null|\[object/);
      expect(sentence.length).toBeGreaterThan(3);
    }
  });

  test('names roles and environments in its own language, and quotes the words of others', () => {
    const change = { email: 'sara@shop.example', from: 'VIEWER', to: 'OWNER' };
    const changed = entry({ action: 'user.change_role', details: change });
    expect(auditSentence(changed, english, 'en')).toBe(
      'The role of sara@shop.example was changed from viewer to owner.',
    );
    expect(auditSentence(changed, amharic, 'am')).toContain('ባለቤት');
    const odd = entry({ action: 'user.change_role', details: { ...change, to: 'constructor' } });
    expect(auditSentence(odd, english, 'en')).toContain('to constructor');
  });

  test.each([
    ['account_state', 'The refund R-1 failed: the payer’s wallet account is blocked or closed.'],
    ['a reason of a later version', 'The refund R-1 failed: the wallet refused it.'],
  ])('about a failed refund says why in words: %s', (reason, sentence) => {
    const failed = entry({ action: 'refund.fail', details: { refund_number: 'R-1', reason } });
    expect(auditSentence(failed, english, 'en')).toBe(sentence);
  });

  test.each([
    [english, 'en', 'A refund of ETB\u00a01,050.50 of the order A-1 was requested: Late.'],
    [amharic, 'am', 'ከትዕዛዙ A-1 ብር\u00a01,050.50 እንዲመለስ ተጠየቀ፦ Late።'],
  ] as const)('writes an amount as the other pages do', (words, language, sentence) => {
    const details = { amount: '1050.50', currency: 'ETB', order_number: 'A-1', reason: 'Late.' };
    expect(auditSentence(entry({ action: 'refund.create', details }), words, language)).toBe(sentence);
  });

  test.each([
    [
      { wallet: 'mpesa', environment: 'sandbox', reason: 'compared' },
      'The wallet mpesa was accepted in the recovery of sandbox: compared.',
      'በመሞከሪያ ማገገም ዋሌት mpesa ተቀባይነት አገኘ፦ compared።',
    ],
    [
      { merchants_since: '2026-11-30T11:09:46.000Z', reason: 'asked sales' },
      'A step of the recovery was accepted: asked sales.',
      'የማገገሙ አንድ ሥራ እንደተጠናቀቀ ተመዘገበ፦ asked sales።',
    ],
  ])('about a recovery says what was accepted: %j', (details, inEnglish, inAmharic) => {
    const accepted = entry({ action: 'recovery.accept', details });
    expect(auditSentence(accepted, english, 'en')).toBe(inEnglish);
    expect(auditSentence(accepted, amharic, 'am')).toBe(inAmharic);
  });

  test('about an action that the dashboard does not know names the action and its object', () => {
    expect(auditSentence(entry({ action: 'order.refund' }), english, 'en')).toBe('order.refund: usr_1');
  });
});

test.each([
  [{ actor: 'dashboard:usr_1', actorEmail: 'sara@shop.example' }, 'sara@shop.example'],
  [{ actor: 'operator:alice' }, 'Operator at the command line: alice'],
  [{ actor: 'operator:a:b' }, 'Operator at the command line: a:b'],
  [{ actor: 'operator' }, 'A program'],
  [{ actor: 'dashboard' }, 'The user, by a link or a password'],
  [{ actor: 'dashboard', action: 'session.refuse' }, 'Somebody who could not sign in'],
  [{ actor: 'dashboard', action: 'user.start_reset' }, 'Somebody who could not sign in'],
])('the actor is named: %j', (own, text) => {
  expect(auditActor(entry(own), english)).toBe(text);
});

describe('a filter', () => {
  test.each([
    [{}, ''],
    [{ kind: 'nonsense', from: 'yesterday', to: '2026-13-40' }, ''],
    [{ from: '0001-01-01' }, ''],
    [{ kind: ['user', 'order'], from: { a: 1 } }, ''],
    [
      { kind: 'api_key', from: '2026-01-31', to: '2026-02-01' },
      '?kind=api_key&from=2026-01-31&to=2026-02-01',
    ],
  ])('is read from the address, and invalid values are ignored: %j', (query, text) => {
    expect(auditQuery(readAuditFilter(query, 'Africa/Addis_Ababa'), '')).toBe(text);
  });

  test.each([
    ['Africa/Addis_Ababa', '2026-01-30T21:00:00.000Z', '2026-01-31T21:00:00.000Z'],
    ['UTC', '2026-01-31T00:00:00.000Z', '2026-02-01T00:00:00.000Z'],
    ['America/New_York', '2026-01-31T05:00:00.000Z', '2026-02-01T05:00:00.000Z'],
  ])('includes a whole day in %s', (timeZone, from, to) => {
    const filter = readAuditFilter({ from: '2026-01-31', to: '2026-01-31' }, timeZone);
    const { fromTime, toTime } = auditTimes(filter, timeZone);
    expect([fromTime, toTime].map((time) => time && timestampDate(time).toISOString())).toEqual([from, to]);
  });

  test('includes a day of 23 or 25 hours when clocks change', () => {
    const filter = readAuditFilter({ from: '2026-03-08', to: '2026-03-08' }, 'America/New_York');
    const { fromTime, toTime } = auditTimes(filter, 'America/New_York');
    expect(Number(toTime?.seconds) - Number(fromTime?.seconds)).toBe(23 * 3600);
  });
});
