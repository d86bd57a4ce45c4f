import type { FastifyReply, FastifyRequest } from 'fastify';

const cookieName = 'gatehouse_awaits';
const awaits = '1';

/** Longer than any payment session, which ends within 24 hours. */
const maxAgeSeconds = 2 * 24 * 60 * 60;

/** Which browser waits for the outcome of a payment that it started or cancelled, and has not seen that outcome yet. */
export interface AwaitedOutcomes {
  /** The browser has just started or cancelled the payment whose page is at `path`. */
  readonly begin: (reply: FastifyReply, path: string) => void;
  /** Whether the browser sees the outcome for the first time; from then on it does not any more. */
  readonly take: (request: FastifyRequest, reply: FastifyReply, path: string) => boolean;
}

/** Kept in a cookie of the page alone, so that it works without scripts, and in no other browser. */
export const createAwaitedOutcomes = (secure: () => boolean): AwaitedOutcomes => ({
  begin: (reply, path) => {
    reply.setCookie(cookieName, awaits, {
      path,
      httpOnly: true,
      sameSite: 'lax',
      secure: secure(),
      maxAge: maxAgeSeconds,
    });
  },
  take: (request, reply, path) => {
    if (request.cookies[cookieName] !== awaits) return false;
    reply.clearCookie(cookieName, { path, httpOnly: true, sameSite: 'lax', secure: secure() });
    return true;
  },
});
