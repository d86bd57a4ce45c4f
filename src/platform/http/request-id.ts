import type { IncomingMessage } from 'node:http';
import { isRequestId } from '../request-id.ts';

/** A balancer's own id for the request, when it is one that can be written into logs and headers as it is. */
export function usableRequestId({ headers }: IncomingMessage): string | undefined {
  const given = headers['x-request-id'];
  return typeof given === 'string' && isRequestId(given) ? given : undefined;
}
