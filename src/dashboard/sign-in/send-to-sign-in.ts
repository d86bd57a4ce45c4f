import type { SendToSignIn } from '../access/add-access.ts';
import type { Dashboard } from '../dashboard.ts';
import { carriedFormOf } from '../forms/carry-form.ts';
import { showSignIn } from './show-sign-in.ts';

/**
 * Redirects a user to sign in or to confirm the identity, and later back. A form that the user was sending is kept: in the
 * sign-in page when there is no session, otherwise in the session.
 */
export function createSendToSignIn(dashboard: Dashboard): SendToSignIn {
  return async (why, request, reply) => {
    const isPage = request.method === 'GET' || request.method === 'HEAD';
    if (isPage) {
      const to = why === 'sign-in' ? '/sign-in' : '/confirm';
      return reply.redirect(`${to}?next=${encodeURIComponent(request.url)}`, 303);
    }
    const carried = carriedFormOf(request);
    if (why === 'sign-in') return showSignIn(dashboard, request, reply, { carried, status: 401 });
    const { data } = request.session;
    // A form that is too large is not kept. An older one must not be sent in its place.
    delete data?.carried;
    if (data !== undefined && carried !== undefined) data.carried = carried;
    return reply.redirect('/confirm', 303);
  };
}
