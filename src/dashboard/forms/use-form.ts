import { hash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { DashboardClients } from '../clients.ts';
import { PageProblem } from '../page-problem.ts';
import { callOptions } from '../try-call.ts';
import { fieldOf, fieldsOf } from './read-form.ts';

/**
 * Uses the form of a signed-in user, if it has a `form_id`. Call it before the handlers. Each page has a new id, and core accepts the same fields
 * with it once for each path. So a form that is sent twice, even at the same moment or to two processes, has its effect once.
 * @throws PageProblem the second time
 */
export async function useForm(
  sessions: DashboardClients['sessions'],
  request: FastifyRequest,
): Promise<void> {
  const { signedInUser } = request;
  if (signedInUser === null || fieldOf(request.body, 'form_id') === '') return;
  const [path = ''] = request.url.split('?');
  // Core stores it. A form may contain a password, which nobody can guess from a hash that includes the random id.
  const fields = fieldsOf(request.body).filter(([name]) => name !== '_csrf');
  const form = hash('sha256', JSON.stringify([path, fields]), 'base64url');
  const { wasUsed } = await sessions.useForm({ userId: signedInUser.userId, form }, callOptions(request));
  if (wasUsed) throw new PageProblem('sentBefore', 'FORM_SENT_BEFORE');
}
