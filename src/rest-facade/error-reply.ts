import { ConnectError } from '@connectrpc/connect';
import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  badRequestEnvelope,
  errorEnvelope,
  keyReusedEnvelope,
  noRouteEnvelope,
  refundsDeniedEnvelope,
  tooManyRequestsEnvelope,
  unauthorizedEnvelope,
} from '../merchant-api/error-envelope.ts';
import type { ErrorDialect, ErrorEnvelope, ErrorStatus } from '../merchant-api/error-envelope.ts';
import { contentTypeProblem } from './body-parser.ts';
import { refusedKeyHint } from './key-hint.ts';
import { RequestFailure, invalidRequest } from './request-failure.ts';
import type { Failure } from './request-failure.ts';
import { failureOfRpc } from './rpc-failure.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The form of a route's errors; standard by default. */
    errorDialect?: ErrorDialect;
  }
}

const jsonType = 'application/json; charset=utf-8';

/** Answers a request with the thrown error, and stores the reason for the log. */
export function replyWithError(thrown: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const { failure, reason, cause } = requestFailureOf(thrown);
  const { logged } = request;
  if (logged !== null) {
    logged.reason = reason;
    if (failure.kind === 'invalid') logged.issues = [...new Set(failure.details.map(({ field }) => field))];
    if (failure.kind === 'internal') logged.cause = cause;
  }
  const dialect = request.routeOptions.config.errorDialect ?? 'standard';
  const { status, body } = envelopeOf(failure, dialect);
  if ('retryAfterSeconds' in failure) reply.header('retry-after', failure.retryAfterSeconds);
  reply.code(status).type(jsonType).send(body);
}

/** The documented error for a failure. The direct endpoint has no 403: it treats the key of a suspended merchant as invalid. */
function envelopeOf(failure: Failure, dialect: ErrorDialect): { status: ErrorStatus; body: ErrorEnvelope } {
  const plain = (status: ErrorStatus) => ({ status, body: errorEnvelope(dialect, status) });
  switch (failure.kind) {
    case 'invalid':
      return { status: 400, body: badRequestEnvelope(dialect, failure.details) };
    case 'unauthorized':
      return { status: 401, body: unauthorizedEnvelope(dialect, failure.issue) };
    case 'forbidden':
      if (failure.scope === 'refunds') return { status: 403, body: refundsDeniedEnvelope };
      return dialect === 'direct'
        ? { status: 401, body: unauthorizedEnvelope(dialect, refusedKeyHint) }
        : plain(403);
    case 'not_found':
      return failure.detail === undefined
        ? plain(404)
        : { status: 404, body: noRouteEnvelope(failure.detail) };
    case 'key_reused':
      return { status: 422, body: keyReusedEnvelope };
    case 'too_many_requests':
      return { status: 429, body: tooManyRequestsEnvelope(failure.limit ?? 'requests') };
    case 'recovering':
      return plain(503);
    case 'internal':
      return plain(500);
  }
}

function requestFailureOf(thrown: unknown): RequestFailure {
  if (thrown instanceof RequestFailure) return thrown;
  if (thrown instanceof ConnectError) return failureOfRpc(thrown);
  if (thrown instanceof Error && 'statusCode' in thrown) {
    if ('code' in thrown && thrown.code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') {
      return invalidRequest(contentTypeProblem.issues);
    }
    // An invalid path to the static files of the reference page is answered with 404.
    if (typeof thrown.statusCode === 'number' && thrown.statusCode >= 400 && thrown.statusCode < 500)
      return noSuchPath();
  }
  return new RequestFailure({ kind: 'internal' }, 'UNEXPECTED', thrown);
}

const noRoute = (field: string, issue: string): RequestFailure =>
  new RequestFailure({ kind: 'not_found', detail: { field, issue } }, 'ROUTE_NOT_FOUND');

/** A 404 for a path that does not exist. */
export const noSuchPath = (): RequestFailure =>
  noRoute('path', 'does not exist; send exactly a path of the API reference, such as /api/v1/register');

/** A 404 for another method than that of the path. */
export const noSuchMethod = (allowed: 'POST' | 'GET'): RequestFailure =>
  noRoute('method', `must be ${allowed}`);
