import type { FastifyRequest } from 'fastify';
import { loadPanel } from '../try-call.ts';
import type { Dashboard } from '../dashboard.ts';
import { noticeText, noticeWords } from '../mail/account-notice-text.ts';
import { flash } from '../session/sign-in-state.ts';
import type { DashboardUser } from '../access/dashboard-user.ts';

/** Shows a newly signed-in user the notices of the account. A failure does not prevent the sign-in. */
export async function showNotices(
  { clients, timeZone }: Dashboard,
  request: FastifyRequest,
  { userId }: DashboardUser,
): Promise<void> {
  const answer = await loadPanel(request, (options) =>
    clients.accounts.listAccountNotices({ userId }, options),
  );
  if (!answer.isThere) return;
  for (const notice of answer.value.notices) {
    const text = noticeText(notice, request.language, timeZone);
    if (text !== undefined)
      flash(request, { tone: 'warn', text: `${text} ${noticeWords[request.language].advice}` });
  }
}
