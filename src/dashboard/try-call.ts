import type { CallOptions } from '@connectrpc/connect';
import type { FastifyRequest } from 'fastify';
import { logFacts } from './request-log.ts';
import { failureOfRpc } from './rpc-failure.ts';
import type { RpcFailure } from './rpc-failure.ts';

/** The deadline of a call. A user waits for the page. */
const deadlineMs = 5_000;

/** The options of every call: deadline, request id and actor. */
export function callOptions(request: FastifyRequest): CallOptions {
  const headers: Record<string, string> = { 'x-request-id': request.id };
  if (request.signedInUser !== null) headers['x-gatehouse-actor'] = request.signedInUser.userId;
  return { timeoutMs: deadlineMs, headers };
}

/** The result of a change: done, or refused with a reason that the form shows. */
export type Answer<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly refusal: RpcFailure };

const shownProblems = new Set(['badRequest', 'refused', 'changedMeanwhile', 'tooManyRequests', 'forbidden']);

/**
 * Makes a call whose refusals the page shows. Not found and unavailable are thrown, and get their error page.
 */
export async function tryCall<T>(
  request: FastifyRequest,
  call: (options: CallOptions) => Promise<T>,
): Promise<Answer<T>> {
  try {
    return { ok: true, value: await call(callOptions(request)) };
  } catch (thrown) {
    const failure = failureOfRpc(thrown);
    if (failure === undefined || !shownProblems.has(failure.problem)) throw thrown;
    logFacts(request, { reason: failure.reason });
    return { ok: false, refusal: failure };
  }
}

/** A part of a page that may be missing. */
export type Panel<T> =
  | { readonly isThere: true; readonly value: T }
  | { readonly isThere: false; readonly requestId: string };

const missingProblems = new Set(['unavailable', 'recovering', 'unexpected']);

/**
 * Loads a part of a page. If core or webhooks is unavailable or fails, or the gateway recovers from a restore, the part says that it is
 * unavailable, and the page works without it. Not found and not allowed are thrown.
 */
export async function loadPanel<T>(
  request: FastifyRequest,
  load: (options: CallOptions) => Promise<T>,
): Promise<Panel<T>> {
  try {
    return { isThere: true, value: await load(callOptions(request)) };
  } catch (thrown) {
    const failure = failureOfRpc(thrown);
    if (failure === undefined || !missingProblems.has(failure.problem)) throw thrown;
    logFacts(request, { reason: failure.reason, cause: thrown });
    return { isThere: false, requestId: request.id };
  }
}
