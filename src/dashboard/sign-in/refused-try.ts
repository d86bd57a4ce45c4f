import type { FastifyReply, FastifyRequest } from 'fastify';
import { waitText } from '../../platform/language/duration-text.ts';
import { wordsFor } from '../language/words.ts';
import type { RpcFailure } from '../rpc-failure.ts';
import { signInWords } from './show-sign-in.ts';
import type { Notice } from './show-sign-in.ts';

/** The message of a refused sign-in or confirmation. */
export function refusedTry(
  request: FastifyRequest,
  reply: FastifyReply,
  refusal: RpcFailure,
  wrong: { readonly title: string; readonly body: string },
): { status: number; notice: Notice } {
  if (refusal.problem !== 'tooManyRequests') return { status: 401, notice: { tone: 'bad', ...wrong } };
  return refusedForNow(request, reply, refusal);
}

/** The message after too many tries, with the wait. */
export function refusedForNow(
  request: FastifyRequest,
  reply: FastifyReply,
  refusal: RpcFailure,
): { status: number; notice: Notice } {
  const { tooMany } = wordsFor(request, signInWords);
  const seconds = refusal.retryAfterSeconds ?? 60;
  reply.header('retry-after', seconds);
  const body = tooMany.body(waitText(seconds, request.language));
  return { status: 429, notice: { tone: 'bad', title: tooMany.title, body } };
}
