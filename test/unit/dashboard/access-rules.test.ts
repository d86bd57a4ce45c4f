import { expect, test } from '@jest/globals';
import { accessRules } from '../../../src/dashboard/access/access-rules.ts';
import type { AccessRule } from '../../../src/dashboard/access/access-rule.ts';

// The rights of each role, written by hand, so that a change of rights must be made in two places.

/** `confirmed`: the identity was confirmed in the last ten minutes. {m}, {e}, {o}: the paths of a merchant, of its environment, of operators. */
const written: readonly (readonly [method: string, who: string, paths: string])[] = [
  ['GET', 'everyone', `/sign-in /sign-in/code /invitation/* /reset /reset/*`],
  ['POST', 'everyone', `/sign-in /sign-in/code /sign-out /invitation/* /reset /reset/*`],
  ['GET', 'signed in', `/ /confirm /carry-on /account /wallet-logos/*`],
  ['POST', 'signed in', `/confirm /account/profile /account/password /account/sessions/end`],
  ['POST', 'signed in, confirmed', `/account/codes/begin /account/codes/confirm /account/codes/off`],
  [
    'GET',
    'viewer or operator',
    `{e} {e}/orders {e}/orders.csv {e}/orders/* {e}/orders/*/state {e}/refunds {e}/refunds.csv {e}/refunds/*
     {e}/refunds/*/state {e}/stray-payments {e}/links {e}/links/* {e}/links/*/state {e}/quick-start {e}/wallets`,
  ],
  [
    'GET',
    'developer or operator',
    `{e}/links/new {e}/keys {e}/webhooks {e}/webhooks/deliveries/* {e}/webhooks/secrets {e}/webhooks/endpoints
     {e}/webhooks/endpoints/* {e}/requests {e}/requests/* {e}/wallets/*`,
  ],
  ['GET', 'owner or operator', `{m}/refund-approval {m}/team {m}/audit`],
  ['GET', 'developer', `{e}/orders/*/refund {e}/links/*/qr.svg {e}/links/*/qr.png`],
  [
    'POST',
    'developer',
    `{e}/orders/*/cancel {e}/orders/*/query-wallet {e}/orders/*/refund/check {e}/refunds/*/query-wallet
     {e}/refunds/*/withdraw {e}/links {e}/webhooks/test {e}/webhooks/hosts/pause {e}/webhooks/hosts/resume
     {e}/webhooks/deliveries/*/redeliver {e}/webhooks/endpoints/*/pause {e}/webhooks/endpoints/*/resume
     {e}/webhooks/endpoints/*/test {e}/webhooks/endpoints/*/delete`,
  ],
  [
    'POST',
    'developer, confirmed',
    `{e}/orders/*/refund {e}/keys {e}/keys/*/rotate {e}/keys/*/refunds {e}/keys/*/revoke
     {e}/webhooks/secrets/rotate {e}/webhooks/secrets/promote {e}/webhooks/endpoints {e}/webhooks/endpoints/*
     {e}/webhooks/endpoints/*/rotate-secret {e}/webhooks/endpoints/*/promote-secret`,
  ],
  [
    'POST',
    'owner',
    `{e}/refunds/*/decline {m}/team/remove {m}/team/take-back {e}/wallets/*/switch {e}/wallets/*/accounts/*/check`,
  ],
  [
    'POST',
    'owner, confirmed',
    `{e}/refunds/*/approve {m}/refund-approval {m}/team/invite {m}/team/*/role {e}/wallets/*/accounts
     {e}/wallets/*/accounts/*/promote {e}/wallets/*/accounts/*/retire {e}/wallets/*/accounts/*/remove`,
  ],
  [
    'GET',
    'operator',
    `{o}/users {o}/audit {o} {o}/merchants {o}/merchants/* {o}/orders {o}/wallets {o}/stray-payments
     {o}/settlements {o}/balances {o}/reconciliations {o}/reconciliations/* {o}/personal-data {o}/pipeline
     {o}/endpoints`,
  ],
  [
    'POST',
    'operator',
    `{o}/users/take-back {o}/users/reject {o}/users/disable {o}/merchants {o}/merchants/*/terms
     {o}/merchants/*/suspend {o}/merchants/*/resume {o}/stray-payments/*/*/retry {o}/settlements/*/withdraw
     {o}/reconciliations {o}/personal-data/check`,
  ],
  [
    'POST',
    'operator, confirmed',
    `{o}/users/invite {o}/users/reset {o}/users/remove-totp {o}/users/approve {o}/users/enable
     {o}/merchants/*/activate {o}/settlements/propose {o}/settlements/*/confirm {o}/personal-data`,
  ],
];

const starts = { '{m}': '/m/*', '{e}': '/m/*/*', '{o}': '/operator' };

function whoOf(rule: AccessRule): string {
  if (rule.who === 'everyone') return 'everyone';
  const confirmed = rule.stepUp ? ', confirmed' : '';
  if (rule.who === 'signed-in') return `signed in${confirmed}`;
  if (rule.who === 'operator') return `operator${confirmed}`;
  return `${rule.role}${rule.operators ? ' or operator' : ''}${confirmed}`;
}

test('each route is open to the users that this table names', () => {
  const expected = written.flatMap(([method, who, paths]) =>
    paths
      .split(/\s+/)
      .map((path) => [
        `${method} ${path.replace(/^\{.\}/, (start) => starts[start as keyof typeof starts])}`,
        who,
      ]),
  );

  const stated = Object.entries(accessRules).map(([route, rule]) => [
    route.replaceAll(/:\w+/g, '*'),
    whoOf(rule),
  ]);

  expect(Object.fromEntries(stated)).toEqual(Object.fromEntries(expected));
});
