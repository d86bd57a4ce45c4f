import type { FastifyReply, FastifyRequest } from 'fastify';
import { durationText } from '../../platform/language/duration-text.ts';
import type { Dashboard } from '../dashboard.ts';
import { wordsFor } from '../language/words.ts';
import { PageProblem } from '../page-problem.ts';
import type { RpcFailure } from '../rpc-failure.ts';
import { signInWords } from './show-sign-in.ts';
import type { Notice } from './show-sign-in.ts';

/**
 * Refuses a password that did not come over https where people reach the pages so, or by a proxy that is not trusted to
 * say that it did: others on the way may have read it, and no browser would keep the cookie that says who is in.
 */
export function requireSecureConnection({ isSecure }: Dashboard, { protocol }: FastifyRequest): void {
  if (isSecure && protocol !== 'https') throw new PageProblem('insecureConnection', 'NOT_HTTPS');
}

/** Where somebody goes who has proved who they are: on with their form, or to where they wanted to be. */
export function takeWayOn(request: FastifyRequest): string {
  const { data } = request.session;
  if (data === undefined) return '/';
  const { next = '/' } = data;
  delete data.next;
  return data.carried === undefined ? next : '/carry-on';
}

/** What is said of a try to prove who one is that was refused. */
export function refusedTry(
  request: FastifyRequest,
  reply: FastifyReply,
  refusal: RpcFailure,
  wrong: { readonly title: string; readonly body: string },
): { status: number; notice: Notice } {
  if (refusal.problem !== 'tooManyRequests') return { status: 401, notice: { tone: 'bad', ...wrong } };
  return refusedForNow(request, reply, refusal);
}

/** Says how long to wait after too many tries. */
export function refusedForNow(
  request: FastifyRequest,
  reply: FastifyReply,
  refusal: RpcFailure,
): { status: number; notice: Notice } {
  const { tooMany } = wordsFor(request, signInWords);
  const seconds = refusal.retryAfterSeconds ?? 60;
  reply.header('retry-after', seconds);
  const body = tooMany.body(durationText(seconds, request.language));
  return { status: 429, notice: { tone: 'bad', title: tooMany.title, body } };
}
