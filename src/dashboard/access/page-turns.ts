import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { LRUCache } from 'lru-cache';
import { createFairCalls } from '../../platform/fair-calls.ts';
import type { FairCalls } from '../../platform/fair-calls.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Lets the user's next request begin; null before the request's own turn. */
    endTurn: (() => void) | null;
  }
}

/** As many as a browser sends at a time over HTTP/1.1. */
const maxAtATime = 6;
const maxWaiting = 60;
const maxUsers = 10_000;

/**
 * Answers few requests of a user at a time, and lets the others wait. A page costs core tens of milliseconds, so one user with a hundred
 * requests at once would delay the payments of all merchants. And an answer that its browser does not read stays in memory, which is up to
 * several megabytes for a download. Call it after the hook that finds the user. Above the limit of waiting requests, a request gets the
 * page of an overload.
 */
export function addPageTurns(app: FastifyInstance): void {
  const turnsOf = new LRUCache<string, FairCalls>({
    max: maxUsers,
    // A single owner gets half of the calls.
    memoMethod: () => createFairCalls({ maxRunning: 2 * maxAtATime, maxWaiting }),
  });
  app.decorateRequest('endTurn', null);
  app.addHook('onRequest', async (request, { raw }) => {
    const userId = request.viewer?.userId;
    if (userId === undefined) return;
    const { promise: ended, resolve: end } = Promise.withResolvers<undefined>();
    const leaving = {
      get aborted() {
        return raw.destroyed;
      },
    };
    const waits = setImmediate(() => (request.hasWaited = true));
    await new Promise<void>((begin, refuse) => {
      const inTurn = turnsOf.memo(userId);
      inTurn({ owner: userId }, leaving, () => {
        request.endTurn = () => end(undefined);
        begin();
        return ended;
      }).catch(refuse);
    });
    clearImmediate(waits);
  });
  // Not as soon as the connection closes, because core still answers for a browser that left.
  app.addHook('onSend', ({ endTurn, raw: { socket } }, { raw }, _payload, done) => {
    if (endTurn !== null) whenRead(raw, socket, endTurn);
    done();
  });
}

/** Calls `then` when the connection has taken the whole answer, or is closed. It may be closed before an answer that waits for an earlier one. */
function whenRead(answer: ServerResponse, connection: Socket, then: () => void): void {
  if (connection.destroyed) {
    then();
    return;
  }
  const end = (): void => {
    answer.removeListener('finish', end);
    connection.removeListener('close', end);
    then();
  };
  answer.once('finish', end);
  connection.once('close', end);
}
