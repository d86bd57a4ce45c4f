import { createHash, randomBytes } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { createClient } from '@connectrpc/connect';
import {
  AccountService,
  MemberRole,
  SessionService,
  UserSchema,
} from '../../../src/gen/gatehouse/v1/account_service_pb.js';
import type { User } from '../../../src/gen/gatehouse/v1/account_service_pb.js';
import { createGrpcTransport } from '../../../src/contract/grpc-transport.ts';
import { codeOf } from '../../support/authenticator.ts';
import { openDashboardUsers, testName } from '../../support/dashboard-users.ts';
import {
  shared,
  sharedConnection,
  sharedMerchant,
  sharedStack,
  standIn,
} from '../../support/shared-stack.ts';
import type { Stack } from '../../support/stack.ts';

export const password = 'correct horse battery';

/** The common steps of tests of accounts. */
export function openAccountDesk(stack: Stack) {
  const transports = stack.addresses.map((address) =>
    createGrpcTransport({ addresses: [address], token: stack.tokens.dashboard }),
  );
  const [first, ...others] = transports.map((transport) => createClient(AccountService, transport));
  if (first === undefined || transports[0] === undefined) throw new Error('the stack has no core');
  const sessions = createClient(SessionService, transports[0]);
  const known = openDashboardUsers(stack);
  let users = 0;
  const newEmail = (): string => `user-${++users}@shop.example`;
  return {
    /** One client for each core of the stack. */
    accounts: [first, ...others] as const,
    sessions,
    /** An address that no account has. */
    newEmail,
    /** A member of a merchant, or an operator without one. */
    async addUser(place?: { merchantId: string; role: MemberRole }, email = newEmail()) {
      const own = { email, password };
      const { userId } = await (place === undefined
        ? known.operator(own)
        : known.member(place.merchantId, place.role, own));
      return create(UserSchema, { userId, email, name: testName });
    },
    /** A new merchant with a member for each role. */
    async openShop(...roles: MemberRole[]) {
      const { id: merchantId } = await stack.createMerchant();
      const members: User[] = [];
      for (const role of roles) members.push(await this.addUser({ merchantId, role }));
      return { merchantId, members };
    },
    /** Invites a user to another new merchant. */
    async inviteElsewhere(email: string, role = MemberRole.OWNER) {
      const { id: merchantId } = await stack.createMerchant();
      const { token } = await first.inviteUser({ email, merchantId, role });
      return { merchantId, token };
    },
    /** A session of the user, by the hash of its id. */
    async openSession(userId: string) {
      const sessionHash = createHash('sha256').update(randomBytes(16)).digest();
      await sessions.writeSession({ sessionHash, session: sessionOf(userId) });
      return sessionHash;
    },
    isOpen: async (sessionHash: Buffer) =>
      (await sessions.readSession({ sessionHash })).session !== undefined,
    /** Turns the second factor on with the code of `steps` after now. Returns the secret and the recovery codes. */
    async enableTotp(userId: string, steps = 0) {
      const { secret } = await first.beginTotp({ userId });
      const { recoveryCodes } = await first.confirmTotp({ userId, code: codeOf(secret, steps) });
      return { secret, recoveryCodes };
    },
    close: () => transports.forEach((transport) => transport.close()),
  };
}

/** A call of the dashboard for a person. */
export const asUser = (user: Pick<User, 'userId'> | undefined) => ({
  headers: { 'x-gatehouse-actor': user?.userId ?? '' },
});

/** A session as it is written, that lasts for a minute. */
export const sessionOf = (userId: string, data = 'cart') => ({
  userId,
  data: Buffer.from(data),
  expireTime: timestampFromDate(new Date(Date.now() + 60_000)),
});

/** The desk of all tests of a file. */
export const sharedAccountDesk = (stack: Stack) => shared(() => Promise.resolve(openAccountDesk(stack)));

/** Two cores with accounts, a merchant whose members they can be, and their database for facts that no RPC shows. */
export function sharedAccountSite() {
  const stack = sharedStack({ cores: 2, facades: 0 });
  const desk = sharedAccountDesk(stack);
  return {
    stack,
    desk,
    accounts: standIn(() => desk.accounts[0]),
    database: sharedConnection(() => stack.databaseUrl),
    merchant: sharedMerchant(stack),
  };
}
