import type { FastifyRequest } from 'fastify';
import { signedInUserOf } from '../access/page-context.ts';
import type { DashboardClients } from '../clients.ts';
import { PageProblem } from '../page-problem.ts';
import { callOptions } from '../try-call.ts';
import { fieldOf } from './read-form.ts';

/**
 * Call it before a form creates something. Each page has a new `form_id`, which core accepts once for each path. So a form that is sent
 * twice, even at the same moment or to two processes, has its effect once. @throws PageProblem the second time
 */
export async function useForm(
  { sessions }: Pick<DashboardClients, 'sessions'>,
  request: FastifyRequest,
): Promise<void> {
  const formId = fieldOf(request.body, 'form_id');
  // Pages of the previous version have no such field.
  if (formId === '') return;
  const [path = ''] = request.url.split('?');
  const { userId } = signedInUserOf(request);
  const { wasUsed } = await sessions.useForm({ userId, form: `${formId} ${path}` }, callOptions(request));
  if (wasUsed) throw new PageProblem('sentBefore', 'FORM_SENT_BEFORE');
}
