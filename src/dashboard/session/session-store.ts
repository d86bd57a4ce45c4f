import { createHash } from 'node:crypto';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { Client } from '@connectrpc/connect';
import type { Session } from 'fastify';
import type { SessionService } from '../../gen/gatehouse/v1/account_service_pb.js';
import { readSessionData, writeSessionData } from './session-data.ts';
import type { SessionData } from './session-data.ts';
import { viewerOfUser } from '../access/viewer.ts';

/** How long a session lasts. OWASP ASVS 5.0, 7.3: both limits, as long as the risk allows. */
export interface SessionLimits {
  /** Without being used. */
  readonly idleMs: number;
  /** In any case. */
  readonly absoluteMs: number;
  /** From a right password to a right one-time code. */
  readonly codeMs: number;
}

type Done = (error?: unknown) => void;

const deadlineMs = 5_000;

/** What core knows a session by: whoever reads its database cannot take a session over. */
export const sessionHash = (sessionId: string): Uint8Array => createHash('sha256').update(sessionId).digest();

/** When a session ends by itself, unless it is used before. */
export function sessionExpiry(data: SessionData, limits: SessionLimits, nowMs: number): number {
  if (data.stage === 'code') return data.signedInAt + limits.codeMs;
  return Math.min(nowMs + limits.idleMs, data.signedInAt + limits.absoluteMs);
}

/** Keeps sessions in core, for @fastify/session. Its callbacks take the error first. */
export function createSessionStore(
  sessions: Client<typeof SessionService>,
  limits: SessionLimits,
  now: () => Date,
) {
  const call = { timeoutMs: deadlineMs };
  const read = async (sessionId: string): Promise<Session | null> => {
    const { session, user } = await sessions.readSession({ sessionHash: sessionHash(sessionId) }, call);
    if (session === undefined || user === undefined) return null;
    const data = readSessionData(session.data);
    if (data === undefined) return null;
    return { cookie: { originalMaxAge: null }, userId: session.userId, data, viewer: viewerOfUser(user) };
  };
  const write = async (sessionId: string, { userId, data }: Session): Promise<void> => {
    // One that nobody has signed in to holds nothing.
    if (userId === undefined || data === undefined) return;
    await sessions.writeSession(
      {
        sessionHash: sessionHash(sessionId),
        session: {
          userId,
          data: writeSessionData(data),
          expireTime: timestampFromMs(sessionExpiry(data, limits, now().getTime())),
        },
      },
      call,
    );
  };
  return {
    get(sessionId: string, done: (error: unknown, session?: Session | null) => void): void {
      read(sessionId).then((session) => done(null, session), done);
    },
    set(sessionId: string, session: Session, done: Done): void {
      write(sessionId, session).then(() => done(), done);
    },
    destroy(sessionId: string, done: Done): void {
      sessions.deleteSession({ sessionHash: sessionHash(sessionId) }, call).then(() => done(), done);
    },
  };
}
