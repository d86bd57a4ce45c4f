import { durationMs, timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt';
import { SessionService } from '../../gen/gatehouse/v1/account_service_pb.js';
import type { WriteSessionRequest } from '../../gen/gatehouse/v1/account_service_pb.js';
import { actorOf } from '../../platform/rpc/actor.ts';
import { markUneventful } from '../../platform/rpc/call-context.ts';
import { rpcService } from '../../contract/rpc-service.ts';
import type { RpcService } from '../../platform/rpc/rpc-service.ts';
import { combine } from '../domain/combine.ts';
import type { Issue } from '../domain/issue.ts';
import { requiredIssue } from '../domain/issue.ts';
import { err, ok } from '../domain/result.ts';
import type { Result } from '../domain/result.ts';
import { parseText } from '../domain/text.ts';
import { parseId, parseOptionalId, valuesOrThrow } from '../rpc/request-fields.ts';
import { parseKeptSessionHash, parseSessionHash } from './account-fields.ts';
import { longestSessionMs } from './session-store.ts';
import type { Session, SessionStore } from './session-store.ts';
import { userMessage } from './user-message.ts';

const maxDataBytes = 16_384;
const maxLifeMs = 30 * 86_400_000;
const maxFormLength = 512;

/** gatehouse.v1.SessionService. */
export function sessionService(store: SessionStore, now: () => Date): RpcService {
  return rpcService(
    SessionService,
    {
      async readSession({ sessionHash }, context) {
        markUneventful(context);
        const found = await store.read(valuesOrThrow(parseSessionHash(sessionHash, 'session_hash')));
        if (found === undefined) return {};
        const { session, user } = found;
        return {
          session: {
            userId: session.userId ?? '',
            data: session.data,
            expireTime: timestampFromDate(session.expiresAt),
          },
          ...(user === undefined ? {} : { user: userMessage(user), passwordVersion: user.passwordVersion }),
        };
      },
      async writeSession(request, context) {
        markUneventful(context);
        const { hash, passwordVersion, ...values } = valuesOrThrow(
          combine({
            hash: parseSessionHash(request.sessionHash, 'session_hash'),
            ...parseSession(request, now()),
          }),
        );
        await store.write(hash, values, passwordVersion);
        return {};
      },
      async deleteSession({ sessionHash, isSignOut }, context) {
        const hash = valuesOrThrow(parseSessionHash(sessionHash, 'session_hash'));
        if (isSignOut) await store.signOut(hash, actorOf(context));
        else await store.end(hash);
        return {};
      },
      async endUserSessions({ userId, keepSessionHash }, context) {
        const { user, keep } = valuesOrThrow(
          combine({
            user: parseId('usr', userId, 'user_id'),
            keep: parseKeptSessionHash(keepSessionHash),
          }),
        );
        await store.endAllBut(user, keep, actorOf(context));
        return {};
      },
      async useForm(request) {
        const { user, form } = valuesOrThrow(
          combine({
            user: parseId('usr', request.userId, 'user_id'),
            form: parseText(request.form, 'form', { max: maxFormLength, required: true }),
          }),
        );
        return { wasUsed: await store.useForm(user, form) };
      },
    },
    {
      readSession: ['dashboard'],
      writeSession: ['dashboard'],
      deleteSession: ['dashboard'],
      endUserSessions: ['dashboard'],
      useForm: ['dashboard'],
    },
  );
}

function parseSession({ session, validFor }: WriteSessionRequest, now: Date) {
  const { userId = '', data = new Uint8Array(), expireTime, passwordVersion = '' } = session ?? {};
  // A dashboard of the previous version gives the end by its own clock.
  const given = expireTime === undefined ? undefined : timestampDate(expireTime);
  const expiresAt = validFor === undefined ? given : new Date(now.getTime() + durationMs(validFor));
  return {
    userId: parseOptionalId('usr', userId, 'session.user_id') satisfies Result<Session['userId'], Issue>,
    data:
      data.length > maxDataBytes
        ? err({ field: 'session.data', issue: `must be at most ${maxDataBytes} bytes` })
        : ok(Buffer.from(data)),
    expiresAt: parseEnd(expiresAt, now),
    passwordVersion: passwordVersion.includes('\0')
      ? err({ field: 'session.password_version', issue: 'must not contain NUL' })
      : ok(passwordVersion),
  };
}

function parseEnd(expiresAt: Date | undefined, now: Date): Result<Date, Issue> {
  const field = 'session.expire_time';
  if (expiresAt === undefined) return err({ field, issue: requiredIssue });
  const lifeMs = expiresAt.getTime() - now.getTime();
  return lifeMs <= maxLifeMs
    ? ok(new Date(now.getTime() + Math.min(lifeMs, longestSessionMs)))
    : err({ field, issue: 'must be within 30 days' });
}
