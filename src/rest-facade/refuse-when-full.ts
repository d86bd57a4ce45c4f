import type { FastifyRequest, onRequestHookHandler } from 'fastify';
import { createShareOfTime } from '../platform/share-of-time.ts';
import { RequestFailure } from './request-failure.ts';

/** The part of the event loop's time for refusals (docs/adr/0008). Reading a refused request costs more than this, and is not limited. */
const refusalsShare = 0.1;
const retryAfterSeconds = 1;

/** Makes a hook from the question whether a request would be refused now. */
export type RefuseWhen = (isFull: (request: FastifyRequest) => boolean) => onRequestHookHandler;

/**
 * Hooks that answer 429 before the body is read, when the request would be refused in any case. In an overload most requests
 * are refused, and their cost slows down the accepted ones.
 */
export function createRefusals(): RefuseWhen {
  const refuse = createShareOfTime(refusalsShare);
  return (isFull) => (request, _reply, done) => {
    if (isFull(request)) refuse(() => done(overloaded));
    else done();
  };
}

/** One error for all refusals: the stack of a new one would be a tenth of a refusal's cost, and is never logged. */
const overloaded = new RequestFailure({ kind: 'too_many_requests', retryAfterSeconds }, 'OVERLOADED');
