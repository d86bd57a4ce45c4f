import { createHash, randomBytes } from 'node:crypto';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { Client } from '@connectrpc/connect';
import { ConnectError } from '@connectrpc/connect';
import { createClient } from '@connectrpc/connect';
import { AccountService, SessionService } from '../../../src/gen/gatehouse/v1/account_service_pb.js';
import type { User, MemberRole } from '../../../src/gen/gatehouse/v1/account_service_pb.js';
import { RetryInfoSchema } from '../../../src/gen/google/rpc/error_details_pb.js';
import { createGrpcTransport } from '../../../src/contract/grpc-transport.ts';
import { codeOf } from '../../support/authenticator.ts';
import { shared } from '../../support/shared-stack.ts';
import type { Stack } from '../../support/stack.ts';

export const password = 'correct horse battery';

/** The common steps of tests of accounts. */
export interface AccountDesk {
  /** One client for each core of the stack. */
  readonly accounts: readonly [Client<typeof AccountService>, ...Client<typeof AccountService>[]];
  readonly sessions: Client<typeof SessionService>;
  /** An address that no account has. */
  readonly newEmail: () => string;
  /** A member of a merchant, or an operator without one. */
  readonly addUser: (place?: { merchantId: string; role: MemberRole }, email?: string) => Promise<User>;
  /** A session of the user, by the hash of its id. */
  readonly openSession: (userId: string) => Promise<Buffer>;
  readonly isOpen: (sessionHash: Buffer) => Promise<boolean>;
  /** Turns the second factor on with the code of `steps` after now. Returns the secret and the recovery codes. */
  readonly enableTotp: (
    userId: string,
    steps?: number,
  ) => Promise<{ secret: string; recoveryCodes: string[] }>;
  readonly close: () => void;
}

export function openAccountDesk(stack: Stack): AccountDesk {
  const transports = stack.addresses.map((address) =>
    createGrpcTransport({ addresses: [address], token: stack.tokens.dashboard }),
  );
  const [first, ...others] = transports.map((transport) => createClient(AccountService, transport));
  if (first === undefined || transports[0] === undefined) throw new Error('the stack has no core');
  const sessions = createClient(SessionService, transports[0]);
  let users = 0;
  const newEmail = (): string => `user-${++users}@shop.example`;
  return {
    accounts: [first, ...others],
    sessions,
    newEmail,
    async addUser(place, email = newEmail()) {
      const { token } = await first.inviteUser({ email, ...(place ?? { asOperator: true }) });
      const { user } = await first.acceptInvitation({ token, name: 'Abebe', password });
      if (user === undefined) throw new Error('nobody came of the invitation');
      return user;
    },
    async openSession(userId) {
      const sessionHash = createHash('sha256').update(randomBytes(16)).digest();
      await sessions.writeSession({ sessionHash, session: sessionOf(userId) });
      return sessionHash;
    },
    isOpen: async (sessionHash) => (await sessions.readSession({ sessionHash })).session !== undefined,
    async enableTotp(userId, steps = 0) {
      const { secret } = await first.beginTotp({ userId });
      const { recoveryCodes } = await first.confirmTotp({ userId, code: codeOf(secret, steps) });
      return { secret, recoveryCodes };
    },
    close: () => transports.forEach((transport) => transport.close()),
  };
}

/** A session as it is written, that lasts for a minute. */
export const sessionOf = (userId: string, data = 'cart') => ({
  userId,
  data: Buffer.from(data),
  expireTime: timestampFromDate(new Date(Date.now() + 60_000)),
});

/** The stated wait in seconds; undefined when the answer states none. */
export async function waitAskedFor(call: Promise<unknown>): Promise<number | undefined> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ConnectError)) return undefined;
  const [retry] = error.findDetails(RetryInfoSchema);
  return retry?.retryDelay === undefined ? undefined : Number(retry.retryDelay.seconds);
}

/** The desk of all tests of a file. */
export const sharedAccountDesk = (stack: Stack): AccountDesk =>
  shared(
    () => Promise.resolve(openAccountDesk(stack)),
    (desk) => desk.close(),
  );
