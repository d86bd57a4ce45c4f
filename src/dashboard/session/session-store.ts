import { createHash } from 'node:crypto';
import { durationFromMs, timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { Client } from '@connectrpc/connect';
import type { Session } from 'fastify';
import type { SessionService } from '../../gen/gatehouse/v1/account_service_pb.js';
import { readSessionData, writeSessionData } from './session-data.ts';
import type { SessionData } from './session-data.ts';
import { dashboardUserFrom } from '../access/dashboard-user.ts';

/** The lifetimes of a session. OWASP ASVS 5.0, 7.3 requires both limits. */
export interface SessionLimits {
  /** The longest time without a request. */
  readonly idleMs: number;
  /** In total. */
  readonly absoluteMs: number;
  /** From a correct password to a correct one-time code. */
  readonly codeMs: number;
}

type Done = (error?: unknown) => void;

const deadlineMs = 5_000;

/** The hash by which core stores a session, so that a copy of its database contains no usable session. */
export const sessionHash = (sessionId: string): Uint8Array => createHash('sha256').update(sessionId).digest();

/** When a session expires without further use. */
export function sessionExpiry(data: SessionData, limits: SessionLimits, nowMs: number): number {
  if (data.stage === 'code') return data.signedInAt + limits.codeMs;
  return Math.min(nowMs + limits.idleMs, data.signedInAt + limits.absoluteMs);
}

/** Stores sessions in core, for @fastify/session. Its callbacks take the error first. */
export function createSessionStore(
  sessions: Client<typeof SessionService>,
  limits: SessionLimits,
  now: () => Date,
) {
  const call = { timeoutMs: deadlineMs };
  const read = async (sessionId: string): Promise<Session | null> => {
    const { session, user, passwordVersion } = await sessions.readSession(
      { sessionHash: sessionHash(sessionId) },
      call,
    );
    if (session === undefined || user === undefined) return null;
    const data = readSessionData(session.data);
    if (data === undefined) return null;
    const dashboardUser = dashboardUserFrom(user, passwordVersion);
    return { cookie: { originalMaxAge: null }, userId: session.userId, data, user: dashboardUser };
  };
  const write = async (sessionId: string, { userId, data, user }: Session): Promise<void> => {
    // A session without a user contains nothing.
    if (userId === undefined || data === undefined) return;
    const nowMs = now().getTime();
    const expiryMs = sessionExpiry(data, limits, nowMs);
    await sessions.writeSession(
      {
        sessionHash: sessionHash(sessionId),
        session: {
          userId,
          data: writeSessionData(data),
          // For a core of the previous version.
          expireTime: timestampFromMs(expiryMs),
          passwordVersion: user?.passwordVersion ?? '',
        },
        validFor: durationFromMs(expiryMs - nowMs),
      },
      call,
    );
  };
  /** Sessions of requests that could not store them. Their error page would fail to store them again, and be replaced by Fastify's JSON. */
  const notStored = new WeakSet<Session>();
  return {
    get(sessionId: string, done: (error: unknown, session?: Session | null) => void): void {
      read(sessionId).then((session) => done(null, session), done);
    },
    set(sessionId: string, session: Session, done: Done): void {
      if (notStored.has(session)) {
        done();
        return;
      }
      write(sessionId, session).then(
        () => done(),
        (error: unknown) => {
          notStored.add(session);
          done(error);
        },
      );
    },
    destroy(sessionId: string, done: Done): void {
      sessions.deleteSession({ sessionHash: sessionHash(sessionId) }, call).then(() => done(), done);
    },
  };
}
