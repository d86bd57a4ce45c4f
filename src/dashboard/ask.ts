import type { CallOptions } from '@connectrpc/connect';
import type { FastifyRequest } from 'fastify';
import { logFacts } from './request-log.ts';
import { failureOfRpc } from './rpc-failure.ts';
import type { RpcFailure } from './rpc-failure.ts';

/** Somebody waits for the page. */
const deadlineMs = 5_000;

/** What every call says: how long it may take, for which request it is, and who stands behind it. */
export function callOptions(request: FastifyRequest): CallOptions {
  const headers: Record<string, string> = { 'x-request-id': request.id };
  if (request.viewer !== null) headers['x-gatehouse-actor'] = request.viewer.userId;
  return { timeoutMs: deadlineMs, headers };
}

/** What somebody's change came to: done, or refused for a reason that the form can tell. */
export type Answer<T> =
  { readonly ok: true; readonly value: T } | { readonly ok: false; readonly refusal: RpcFailure };

const tellable = new Set(['badRequest', 'refused', 'changedMeanwhile', 'tooManyRequests', 'forbidden']);

/**
 * Makes a call whose refusals the page tells by itself. What is not there, or cannot be asked, is thrown, and comes to
 * the page for that.
 */
export async function ask<T>(
  request: FastifyRequest,
  call: (options: CallOptions) => Promise<T>,
): Promise<Answer<T>> {
  try {
    return { ok: true, value: await call(callOptions(request)) };
  } catch (thrown) {
    const failure = failureOfRpc(thrown);
    if (failure === undefined || !tellable.has(failure.problem)) throw thrown;
    logFacts(request, { reason: failure.reason });
    return { ok: false, refusal: failure };
  }
}

/** A part of a page that may be missing while the rest is there. */
export type Panel<T> =
  { readonly isThere: true; readonly value: T } | { readonly isThere: false; readonly requestId: string };

/**
 * Loads a part of a page. When core or webhooks cannot be asked just now, the part says so and the page goes on; what is
 * not there, or not allowed, is thrown as ever.
 */
export async function panel<T>(
  request: FastifyRequest,
  load: (options: CallOptions) => Promise<T>,
): Promise<Panel<T>> {
  try {
    return { isThere: true, value: await load(callOptions(request)) };
  } catch (thrown) {
    const failure = failureOfRpc(thrown);
    if (failure?.problem !== 'unavailable') throw thrown;
    logFacts(request, { reason: failure.reason, cause: thrown });
    return { isThere: false, requestId: request.id };
  }
}
