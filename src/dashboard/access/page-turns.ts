import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { LRUCache } from 'lru-cache';
import { createFairCalls, takeTurn } from '../../platform/fair-calls.ts';
import type { FairCalls } from '../../platform/fair-calls.ts';
import type { DashboardUser } from './dashboard-user.ts';
import { atMost } from '../../platform/at-most.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Lets the user's next request begin; null before the request's own turn. */
    endTurn: (() => void) | null;
    /** Lets the next request about the merchant begin; null before the request's own turn, and for other pages. */
    endMerchantTurn: (() => void) | null;
  }
}

/** The number of requests that a browser sends at a time over HTTP/1.1. */
const maxAtATime = 6;
const maxAtATimeOfMerchant = 12;
const maxWaiting = 60;
const maxRemembered = 10_000;

/**
 * Answers few requests of a user at a time, and few about a merchant, and lets the others wait. A page costs core tens of milliseconds. So one
 * user with a hundred requests at once would delay the payments of all merchants, and so would a merchant with many users. And an answer that
 * its browser does not read stays in memory, which is up to several megabytes for a download. Such an answer keeps only the turn of its user. Call
 * it after the hook that finds the user. Above the limit of waiting requests of a user, a request gets the page of an overload.
 */
export function addPageTurns(app: FastifyInstance): void {
  const userTurns = rememberTurns(maxAtATime);
  const merchantTurns = rememberTurns(maxAtATimeOfMerchant);
  app.decorateRequest('endTurn', null);
  app.decorateRequest('endMerchantTurn', null);
  app.addHook('onRequest', async (request, { raw }) => {
    const { signedInUser } = request;
    if (signedInUser === null) return;
    const { userId } = signedInUser;
    const leaving = {
      get aborted() {
        return raw.destroyed;
      },
    };
    const waits = setImmediate(() => (request.hasWaited = true));
    const endTurn = await takeTurn(userTurns.memo(userId), { owner: userId }, leaving);
    request.endTurn = endTurn;
    const merchantId = ownMerchantOf(request.params, signedInUser);
    if (merchantId !== undefined) {
      const own = { owner: merchantId, part: userId };
      request.endMerchantTurn = await takeTurn(merchantTurns.memo(merchantId), own, leaving);
    }
    clearImmediate(waits);
  });
  // Not as soon as the connection closes, because core still answers for a browser that left.
  app.addHook('onSend', ({ endTurn, endMerchantTurn, raw: { socket } }, { raw }, _payload, done) => {
    endMerchantTurn?.();
    if (endTurn !== null) whenRead(raw, socket, endTurn);
    done();
  });
}

/** The turns of each user or merchant. */
const rememberTurns = (atATime: number): LRUCache<string, FairCalls> =>
  new LRUCache<string, FairCalls>({
    ...atMost(maxRemembered),
    // A single owner gets half of the calls.
    memoMethod: () => createFairCalls({ maxRunning: 2 * atATime, maxWaiting }),
  });

/** The merchant in the path if the user belongs to it. Other users take no turns from its members. */
function ownMerchantOf(params: unknown, { memberships }: DashboardUser): string | undefined {
  const { merchantId } = params as { readonly merchantId?: string };
  return memberships.find((membership) => membership.merchantId === merchantId)?.merchantId;
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
