import type { FastifyReply, FastifyRequest } from 'fastify';

const cookieName = 'gatehouse_awaits';
const awaits = '1';

/** Records which browser started or cancelled a payment and has not seen its outcome yet. */
export interface AwaitedOutcomes {
  /** Records that the browser has just started or cancelled the payment whose page is at `path`. */
  readonly begin: (reply: FastifyReply, path: string) => void;
  /** Whether the browser sees the outcome for the first time. The next call gives false. */
  readonly take: (request: FastifyRequest, reply: FastifyReply, path: string) => boolean;
}

export interface AwaitedOutcomesOptions {
  /** Whether browsers reach the pages over https. */
  readonly secure: () => boolean;
  /** How long a browser waits for an outcome. */
  readonly maxAgeSeconds: number;
}

/** Stored in a cookie for the path of the page, so that it works without scripts and only in this browser. */
export const createAwaitedOutcomes = ({
  secure,
  maxAgeSeconds,
}: AwaitedOutcomesOptions): AwaitedOutcomes => ({
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
