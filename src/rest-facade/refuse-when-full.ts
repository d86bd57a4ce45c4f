import type { onRequestHookHandler } from 'fastify';
import { createFewPerTurn } from '../platform/few-per-turn.ts';
import { RequestFailure } from './request-failure.ts';

const refusedPerTurn = 24;
const retryAfterSeconds = 1;

/**
 * Hooks that answer 429 before a body is read when the request could only be refused: in an overload most requests are, and
 * what each of them costs is taken from those that are accepted.
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
