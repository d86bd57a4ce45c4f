import { describe, expect, test } from '@jest/globals';
import { authenticateService, parseServiceTokens } from '../../../src/platform/rpc/service-tokens.ts';
import { roles } from '../../../src/contract/roles.ts';
import type { ServiceTokens } from '../../../src/platform/rpc/service-tokens.ts';

const [first, second, third] = ['a', 'b', 'c'].map((letter) => letter.repeat(24)) as [string, string, string];

function parsed(text: string): ServiceTokens {
  const tokens = parseServiceTokens(text, roles);
  if (typeof tokens === 'string') throw new Error(tokens);
  return tokens;
}

test('each token authenticates its role, and a role may have several', () => {
  const tokens = parsed(`facade:${first}, reader:${second},facade:${third}`);
  expect([first, second, third].map((token) => authenticateService(tokens, `Bearer ${token}`))).toEqual([
    'facade',
    'reader',
    'facade',
  ]);
});

test('the tokens themselves are not stored', () => {
  expect(JSON.stringify(parsed(`facade:${first}`))).not.toContain(first);
});

test.each([
  ['', 'entry 1 must be role:token'],
  ['facade', 'entry 1 needs a token'],
  [`facade:${first},`, 'entry 2 must be role:token'],
  [
    `king:${first}`,
    'with one of the roles facade, checkout, wallets, webhooks, dashboard, operator, writer, reader',
  ],
  [`Facade:${first}`, 'entry 1 must be role:token'],
  [`facade:${first}:${second}`, 'entry 1 must be role:token'],
  [
    `facade:${'x'.repeat(23)}`,
    'entry 1 needs a token of at least 24 characters; make one with: openssl rand -hex 32',
  ],
  ['facade:', 'entry 1 needs a token of at least 24 characters'],
  [
    `facade:${'x'.repeat(12)} ${'x'.repeat(12)}`,
    'entry 1 has a token with characters that a header cannot carry',
  ],
  [`facade:${'é'.repeat(24)}`, 'entry 1 has a token with characters that a header cannot carry'],
  [`facade:${first},operator:${first}`, 'entry 2 has the token of an earlier entry with another role'],
])('"%s" is refused with its reason', (text, reason) => {
  const refusal = parseServiceTokens(text, roles);
  expect(refusal).toEqual(expect.stringContaining(reason));
  expect(refusal).not.toContain(first);
});

describe('an authorization header', () => {
  const tokens = parsed(`facade:${first}`);

  test.each([`Bearer ${first}`, `bearer ${first}`, `BEARER ${first}`])('"%s" is accepted', (header) => {
    expect(authenticateService(tokens, header)).toBe('facade');
  });

  test.each([
    ...[null, '', 'Bearer', 'Bearer ', first, `Basic ${first}`, `Bearer ${second}`, `Bearer ${first}x`],
    ...[`Bearer ${first.slice(1)}`, `Bearer  ${first}`, ` Bearer ${first}`, `Bearer ${first} `],
    ...[`Bearer ${first}\n`, `Bearer ${first}, Bearer ${first}`, `Bearer ${first.toUpperCase()}`],
    ...[`Bearer facade:${first}`],
  ])('%j is refused', (header) => {
    expect(authenticateService(tokens, header)).toBeUndefined();
  });
});
