import type { onRequestHookHandler } from 'fastify';
import { createFewPerTurn } from '../platform/few-per-turn.ts';
import { RequestFailure } from './request-failure.ts';

const refusedPerTurn = 24;
const retryAfterSeconds = 1;

/**
 * Hooks that answer 429 before the body is read, when the request would be refused in any case. In an overload most requests
 * are refused, and their cost slows down the accepted ones.
 */
export function createRefusals(): (isFull: () => boolean) => onRequestHookHandler {
  const refuse = createFewPerTurn(refusedPerTurn);
  return (isFull) => (_request, _reply, done) => {
    if (isFull()) refuse(() => done(overloaded()));
    else done();
  };
}

const overloaded = (): RequestFailure =>
  new RequestFailure({ kind: 'too_many_requests', retryAfterSeconds }, 'OVERLOADED');
