import type { FastifyReply, FastifyRequest } from 'fastify';
import { dashboardUserFrom } from '../access/dashboard-user.ts';
import type { Dashboard } from '../dashboard.ts';
import { beginSession } from '../session/sign-in-state.ts';
import { takeNextPage } from './next-page.ts';
import { showNotices } from './show-notices.ts';

/** A user whose password or invitation core has accepted. */
interface Accepted {
  readonly user: Parameters<typeof dashboardUserFrom>[0];
  readonly passwordVersion: Parameters<typeof dashboardUserFrom>[1];
}

/** Begins the session of a user. Answers with the page that comes next: the one that asks for the code, if the user has codes. */
export async function beginSignIn(
  { dashboard, request, reply }: { dashboard: Dashboard; request: FastifyRequest; reply: FastifyReply },
  { user, passwordVersion }: Accepted,
  after: Parameters<typeof beginSession>[3],
): Promise<FastifyReply> {
  const dashboardUser = dashboardUserFrom(user, passwordVersion);
  const asksForCode = dashboardUser.isTotpEnabled;
  await beginSession(request, dashboardUser, asksForCode ? 'code' : 'in', after, dashboard.now().getTime());
  if (asksForCode) return reply.redirect('/sign-in/code', 303);
  await showNotices(dashboard, request, dashboardUser);
  return reply.redirect(takeNextPage(request), 303);
}
