import type { FastifyRequest } from 'fastify';
import type { Dashboard } from '../dashboard.ts';
import { PageProblem } from '../page-problem.ts';

/**
 * Refuses a password that did not arrive over https, if the dashboard's public URL is https. A request through a proxy counts as http if
 * the dashboard does not trust the headers of the proxy. Another person may have read the password, and browsers would not store the session's
 * cookie.
 */
export function requireSecureConnection({ isSecure }: Dashboard, { protocol }: FastifyRequest): void {
  if (isSecure && protocol !== 'https') throw new PageProblem('insecureConnection', 'NOT_HTTPS');
}
