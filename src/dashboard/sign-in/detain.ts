import type { Detain } from '../access/add-access.ts';
import type { Dashboard } from '../dashboard.ts';
import { carriedFormOf } from '../forms/carry-form.ts';
import { showSignIn } from './show-sign-in.ts';

/**
 * Sends somebody to sign in, or to confirm who they are, and back. A form that they were sending is kept: in the page
 * that asks them to sign in, as there is no session, and else in their session.
 */
export function createDetain(dashboard: Dashboard): Detain {
  return async (why, request, reply) => {
    const isPage = request.method === 'GET' || request.method === 'HEAD';
    if (isPage) {
      const to = why === 'sign-in' ? '/sign-in' : '/confirm';
      return reply.redirect(`${to}?next=${encodeURIComponent(request.url)}`, 303);
    }
    const carried = carriedFormOf(request);
    if (why === 'sign-in') return showSignIn(dashboard, request, reply, { carried, status: 401 });
    const { data } = request.session;
    if (data !== undefined && carried !== undefined) data.carried = carried;
    return reply.redirect('/confirm', 303);
  };
}
