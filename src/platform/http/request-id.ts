import type { IncomingMessage } from 'node:http';
import { isRequestId } from '../request-id.ts';

/** A balancer's id for the request, if it is safe in logs and headers. */
export function usableRequestId({ headers }: IncomingMessage): string | undefined {
  const given = headers['x-request-id'];
  return typeof given === 'string' && isRequestId(given) ? given : undefined;
}
