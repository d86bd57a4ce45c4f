import { createHash } from 'node:crypto';
import { timestampDate, timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { MemberRole } from '../../../src/gen/gatehouse/v1/account_service_pb.js';
import { SessionService } from '../../../src/gen/gatehouse/v1/account_service_pb.js';
import { openDashboardUsers } from '../../support/dashboard-users.ts';
import type { DashboardUsers, TestUser } from '../../support/dashboard-users.ts';
import { createDashboardVisitor } from '../../support/dashboard-visitor.ts';
import type { DashboardVisitor } from '../../support/dashboard-visitor.ts';
import { shared } from '../../support/shared-stack.ts';
import type { Stack, TestMerchant } from '../../support/stack.ts';

/** The common steps of tests of the dashboard on a stack. */
export interface DashboardDesk {
  readonly users: DashboardUsers;
  readonly visitor: () => DashboardVisitor;
  /** A user who has signed in. */
  readonly signedIn: (user: TestUser) => Promise<DashboardVisitor>;
  /** A user of a new merchant, who has signed in. */
  readonly atNewMerchant: (role?: MemberRole) => Promise<AtMerchant>;
  /** Sets the time of the last confirmed identity in a session. */
  readonly age: (visitor: DashboardVisitor, provedMsAgo: number) => Promise<void>;
  /** When core ends the session. */
  readonly endOf: (visitor: DashboardVisitor) => Promise<Date>;
  /** Ends a session without its browser, as its expiry does. */
  readonly end: (visitor: DashboardVisitor) => Promise<void>;
}

export interface AtMerchant {
  readonly merchant: TestMerchant;
  readonly user: TestUser;
  readonly visitor: DashboardVisitor;
  /** The path of a page of the merchant's sandbox. */
  readonly at: (path: string) => string;
}

export const sessionCookie = 'gatehouse_session';

/** How often core was asked about a session. */
export const sessionsRead = (stack: Stack): Promise<number> => callsOf(stack, 'ReadSession');

/** How often a method of core was called. */
export async function callsOf({ connectUrl }: Stack, method: string): Promise<number> {
  const metrics = await (await fetch(`${connectUrl}/metrics`)).text();
  const counts = metrics.matchAll(
    new RegExp(`^gatehouse_rpc_duration_seconds_count\\{[^}]*"${method}"[^}]*\\} (\\d+)`, 'gm'),
  );
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}

const hashOf = (visitor: DashboardVisitor): Uint8Array =>
  createHash('sha256')
    .update(visitor.cookies.get(sessionCookie) ?? '')
    .digest();

export const sharedDashboardDesk = (stack: Stack): DashboardDesk =>
  shared(
    () => Promise.resolve(openDashboardDesk(stack)),
    () => undefined,
  );

export function openDashboardDesk(stack: Stack): DashboardDesk {
  const origin = stack.dashboards[0]?.origin ?? '';
  const sessions = stack.client(SessionService, 'dashboard');
  const users = openDashboardUsers(stack);
  const visitor = () => createDashboardVisitor(origin);
  const signedIn = async (user: TestUser): Promise<DashboardVisitor> => {
    const browser = visitor();
    const { status, headers } = await browser.signIn(user);
    if (status !== 303) throw new Error(`could not sign in: ${status} ${headers.get('location') ?? ''}`);
    return browser;
  };
  return {
    users,
    visitor,
    signedIn,
    atNewMerchant: async (role) => {
      const merchant = await stack.createMerchant();
      const user = await users.member(merchant.id, role);
      return {
        ...{ merchant, user, visitor: await signedIn(user) },
        at: (path) => `/m/${merchant.id}/sandbox/${path}`,
      };
    },
    age: async (browser, provedMsAgo) => {
      const sessionHash = hashOf(browser);
      const { session } = await sessions.readSession({ sessionHash });
      if (session === undefined) throw new Error('there is no session to age');
      const data = JSON.parse(Buffer.from(session.data).toString()) as {
        provedAt: number;
        seenAt: number;
      };
      data.provedAt -= provedMsAgo;
      data.seenAt -= provedMsAgo;
      await sessions.writeSession({
        sessionHash,
        session: {
          userId: session.userId,
          data: Buffer.from(JSON.stringify(data)),
          expireTime: timestampFromMs(Date.now() + 60_000),
        },
      });
    },
    endOf: async (browser) => {
      const { session } = await sessions.readSession({ sessionHash: hashOf(browser) });
      if (session?.expireTime === undefined) throw new Error('the session has no end');
      return timestampDate(session.expireTime);
    },
    end: async (browser) => {
      await sessions.deleteSession({ sessionHash: hashOf(browser) });
    },
  };
}
