import { beforeAll, describe, expect, test } from '@jest/globals';
import { accessRules } from '../../../src/dashboard/access/access-rules.ts';
import { isAtLeast } from '../../../src/dashboard/access/dashboard-user.ts';
import type { AccessRule } from '../../../src/dashboard/access/access-rule.ts';
import { MemberRole } from '../../../src/gen/gatehouse/v1/account_service_pb.js';
import type { PageAnswer } from '../../support/customer.ts';
import type { DashboardVisitor } from '../../support/dashboard-visitor.ts';
import type { TestMerchant } from '../../support/stack.ts';
import { openDashboardDesk } from './dashboard-desk.ts';
import { sharedStack } from '../../support/shared-stack.ts';

type Who = 'nobody' | 'viewer' | 'developer' | 'owner' | 'foreign owner' | 'operator';

let merchant: TestMerchant;
const visitors = new Map<Who, DashboardVisitor>();

const stack = sharedStack({ facades: 0, dashboards: 1, webhooks: 1 });
beforeAll(async () => {
  const desk = openDashboardDesk(stack);
  const [own, foreign] = await Promise.all([stack.createMerchant(), stack.createMerchant()]);
  merchant = own;
  visitors.set('nobody', desk.visitor());
  const enter = async (who: Who, user: ReturnType<typeof desk.users.operator>) =>
    visitors.set(who, await desk.signedIn(await user));
  await enter('viewer', desk.users.member(own.id, MemberRole.VIEWER));
  await enter('developer', desk.users.member(own.id, MemberRole.DEVELOPER));
  await enter('owner', desk.users.member(own.id, MemberRole.OWNER));
  await enter('foreign owner', desk.users.member(foreign.id, MemberRole.OWNER));
  await enter('operator', desk.users.operator());
});

/** The access that a visitor gets. `let in` does not say which page follows. */
type Verdict = 'let in' | 'sent to sign in' | 403 | 404;

function expected(rule: AccessRule, who: Who): Verdict {
  if (rule.who === 'everyone') return 'let in';
  if (who === 'nobody') return 'sent to sign in';
  if (rule.who === 'signed-in') return 'let in';
  if (rule.who === 'operator') return who === 'operator' ? 'let in' : 404;
  if (who === 'foreign owner') return 404;
  if (who === 'operator') return rule.operators ? 'let in' : 403;
  return isAtLeast(who, rule.role) ? 'let in' : 403;
}

function verdictOf({ status, headers, body }: PageAnswer, denied: Verdict): Verdict {
  if (headers.get('location')?.startsWith('/sign-in?next=') === true) return 'sent to sign in';
  if (status === 401 && body.includes('name="carried"')) return 'sent to sign in';
  if (status === 403) return 403;
  // An id that does not exist is not found by visitors with access either.
  return status === 404 && denied === 404 ? 404 : 'let in';
}

/** A path of a route, with well-formed ids that do not exist, except for the merchant's. */
function pathOf(route: string): string {
  const none = '0'.repeat(26);
  return route
    .replace(':merchantId', merchant.id)
    .replace(':environment', 'sandbox')
    .replace(/:([a-z]+)Id\b/gi, (_match, kind: string) => `${kind.slice(0, 3)}_${none}`)
    .replace(/:[a-z]+/gi, `tok${none}`);
}

/** Other tests cover the route that ends the session of its caller. */
const rules = Object.entries(accessRules).filter(([name]) => name !== 'POST /sign-out');

test('every path below /operator is for operators only', () => {
  const others = rules.filter(([name, { who }]) => name.includes(' /operator') && who !== 'operator');

  expect(others).toEqual([]);
});

describe.each(rules)('%s', (name, rule) => {
  const [method, route = ''] = name.split(' ');

  test.each(['nobody', 'viewer', 'developer', 'owner', 'foreign owner', 'operator'] as const)(
    'gives %s the access that its rule states',
    async (who) => {
      const visitor = visitors.get(who);
      const path = pathOf(route);

      const answer = method === 'GET' ? await visitor?.get(path) : await visitor?.post(path);

      const wanted = expected(rule, who);
      expect(answer && verdictOf(answer, wanted)).toBe(wanted);
    },
  );
});

test.each(['viewer', 'developer', 'owner', 'operator'] as const)(
  'no page of the merchant links %s to a page that is refused',
  async (who) => {
    const start = `/m/${merchant.id}/sandbox`;
    const statuses = new Map<string, number | undefined>();
    const waiting = [start];
    for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
      const answer = await visitors.get(who)?.get(path);
      statuses.set(path, answer?.status);
      const links = [...(answer?.body ?? '').matchAll(/ href="(\/m\/[^"?#]*)/g)].map(([, to = '']) => to);
      for (const to of links) if (!statuses.has(to) && !waiting.includes(to)) waiting.push(to);
    }

    expect(statuses.size).toBeGreaterThan(10);
    expect([...statuses].filter(([, status]) => status === 403 || status === 404)).toEqual([]);
  },
);

test.each([
  ['an unknown merchant', '/m/mer_00000000000000000000000000/sandbox/keys'],
  ['an invalid merchant id', '/m/%3Cscript%3E/sandbox/keys'],
  ['an unknown environment', `/m/MERCHANT/staging/keys`],
  ['an unknown page', '/m/MERCHANT/sandbox/nothing'],
])('%s is not found, for its owner and for operators', async (_name, path) => {
  const at = path.replace('MERCHANT', merchant.id);

  const answers = await Promise.all([visitors.get('owner')?.get(at), visitors.get('operator')?.get(at)]);

  expect(answers.map((answer) => answer?.status)).toEqual([404, 404]);
});

test('the 404 of a foreign merchant does not reveal whether it exists', async () => {
  const stranger = visitors.get('foreign owner');

  const foreign = await stranger?.get(`/m/${merchant.id}/sandbox/keys`);
  const unknown = await stranger?.get('/m/mer_00000000000000000000000000/sandbox/keys');

  const shown = (answer: PageAnswer | undefined) => /<h1>[^]*<\/main>/.exec(answer?.body ?? '')?.[0];
  expect(shown(foreign)).toBe(shown(unknown));
  expect(shown(foreign)).toContain('Page not found');
});
