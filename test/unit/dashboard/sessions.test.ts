import { durationMs } from '@bufbuild/protobuf/wkt';
import { createClient, createRouterTransport } from '@connectrpc/connect';
import { describe, expect, test } from '@jest/globals';
import {
  readCarriedForm,
  readSessionData,
  writeCarriedForm,
  writeSessionData,
} from '../../../src/dashboard/session/session-data.ts';
import { createSessionStore, sessionExpiry } from '../../../src/dashboard/session/session-store.ts';
import { SessionService } from '../../../src/gen/gatehouse/v1/account_service_pb.js';
import { isAtLeast, memberRoles } from '../../../src/dashboard/access/dashboard-user.ts';
import { guardedPath } from '../../../src/dashboard/access/guarded-path.ts';

const minutes = 60_000;
const limits = { idleMs: 60 * minutes, absoluteMs: 720 * minutes, codeMs: 10 * minutes };
const data = { stage: 'in', signedInAt: 0, provedAt: 0, seenAt: 0 } as const;

describe('a session ends', () => {
  test.each([
    ['an hour after it was used last', 'in', 5, 65],
    ['twelve hours after signing in, however it is used', 'in', 700, 720],
    ['ten minutes after the password, when no code comes', 'code', 5, 10],
  ] as const)('%s', (_name, stage, nowMinutes, endMinutes) => {
    expect(sessionExpiry({ ...data, stage }, limits, nowMinutes * minutes)).toBe(endMinutes * minutes);
  });
});

test.each([
  ['after the password, ten minutes', 'code', 10],
  ['after the sign-in, an hour', 'in', 60],
] as const)(
  'a dashboard with a wrong clock asks core for the time that a session lasts: %s',
  async (_name, stage, expected) => {
    const asked: (number | undefined)[] = [];
    const transport = createRouterTransport((router) => {
      router.service(SessionService, {
        writeSession: ({ validFor }) => {
          asked.push(validFor && durationMs(validFor));
          return {};
        },
      });
    });
    const wrongMs = Date.UTC(2001, 0, 1);
    const store = createSessionStore(
      createClient(SessionService, transport),
      limits,
      () => new Date(wrongMs),
    );
    const signedIn = { ...data, stage, signedInAt: wrongMs, provedAt: wrongMs, seenAt: wrongMs };

    await new Promise((resolve) => store.set('id', { userId: 'usr_1', data: signedIn } as never, resolve));

    expect(asked).toEqual([expected * minutes]);
  },
);

describe('the data of a session', () => {
  test('is read as it was written', () => {
    const full = {
      ...data,
      next: '/m/mer_1/sandbox',
      carried: { action: '/m/mer_1/sandbox/keys', fields: [['a', 'ሀ']] as [string, string][] },
      flash: [{ tone: 'good' as const, text: 'Done.' }],
    };

    expect(readSessionData(writeSessionData(full))).toEqual(full);
  });

  test('drops a stored target outside of the dashboard', () => {
    const stored = { ...data, next: '/\\evil.example', carried: { action: '/\\evil.example', fields: [] } };

    expect(readSessionData(writeSessionData(stored))).toEqual(data);
  });

  test.each([
    '',
    'no JSON',
    '{}',
    '[]',
    '{"stage":"in"}',
    '{"stage":"other","signedInAt":0,"provedAt":0,"seenAt":0}',
  ])('is invalid when it is %p, and the user signs in again', (text) => {
    expect(readSessionData(Buffer.from(text))).toBeUndefined();
  });
});

describe('a form that a browser returns', () => {
  test('is read as it was written', () => {
    const form = { action: '/m/mer_1/sandbox/keys', fields: [['label', 'ሱቅ']] as [string, string][] };

    expect(readCarriedForm(writeCarriedForm(form))).toEqual(form);
  });

  test.each([
    ['nothing', ''],
    ['not base64', '%%%'],
    ['for another path', Buffer.from('{"action":"https://evil.example","fields":[]}').toString('base64url')],
    ['another host', Buffer.from('{"action":"//evil.example","fields":[]}').toString('base64url')],
    ['fields of another shape', Buffer.from('{"action":"/m","fields":[["a"]]}').toString('base64url')],
  ])('is invalid when it is %s', (_name, text) => {
    expect(readCarriedForm(text)).toBeUndefined();
  });
});

test('each role has the permissions of the roles before it', () => {
  const table = memberRoles.map((role) => memberRoles.filter((least) => isAtLeast(role, least)));

  expect(table).toEqual([['viewer'], ['viewer', 'developer'], ['viewer', 'developer', 'owner']]);
});

const keys = '/m/mer_1/sandbox/keys';

describe('a path of the dashboard', () => {
  test.each([
    ['/', '/'],
    ['/account', '/account'],
    [`${keys}/`, `${keys}/`],
    [keys, keys],
    ['/m/mer_1/sandbox/orders.csv?number=a%20b', '/m/mer_1/sandbox/orders.csv?number=a%20b'],
    // The parsed path is used, and never the text.
    ['/m/mer_1/x/../sandbox/keys#top', keys],
    ['/m/mer_1\\sandbox\\keys', keys],
    ['/m/mer_1/sandbox/k\teys', keys],
  ])('may be %p', (text, path) => {
    expect(guardedPath(text, 'GET')).toBe(path);
  });

  test.each([
    ...['', 'm/mer_1', '//evil.example', '///evil.example', '/\\evil.example', '\\\\evil.example'],
    ...['/\t/evil.example', '/\n\\evil.example', `/x/..//evil.example${keys}`, `//evil.example${keys}`],
    ...[`/\\evil.example${keys}`, '/%5Cevil.example', '/%2F%2Fevil.example', `https://evil.example${keys}`],
    ...[`http://dashboard.invalid${keys}`, '//[', 'javascript:alert(1)', '/no-such-route'],
    // A page that is open to everyone never leads to the sign-in.
    '/sign-in?next=/',
    ...[`${keys}?${'x'.repeat(2000)}`, ['/account', '/account'], undefined],
  ])('cannot be %p, with any method', (text) => {
    expect([guardedPath(text, 'GET'), guardedPath(text, 'POST')]).toEqual([undefined, undefined]);
  });

  test('accepts a form only where a route does', () => {
    const carried = (action: string) => readCarriedForm(writeCarriedForm({ action, fields: [] }));

    expect(carried(keys)).toEqual({ action: keys, fields: [] });
    const elsewhere = ['/\\evil.example', `/\\evil.example${keys}`];
    for (const action of [...elsewhere, '/sign-out', '/m/mer_1/sandbox', '/sign-in'])
      expect(carried(action)).toBeUndefined();
  });
});
