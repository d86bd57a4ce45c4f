import type { FastifyRequest } from 'fastify';
import type { CarriedForm, Flash, SessionData } from './session-data.ts';
import type { Viewer } from '../access/viewer.ts';

/** What the session is to go on with. */
export interface AfterSignIn {
  readonly next: string | undefined;
  readonly carried: CarriedForm | undefined;
}

/**
 * Begins a session of a user under a new id: one that somebody else put into the browser before is worth nothing.
 * With `stage` `code` they are not in yet.
 */
export async function beginSession(
  request: FastifyRequest,
  viewer: Viewer,
  stage: SessionData['stage'],
  { next, carried }: AfterSignIn,
  nowMs: number,
): Promise<void> {
  const data: SessionData = { stage, signedInAt: nowMs, provedAt: nowMs, seenAt: nowMs };
  if (next !== undefined) data.next = next;
  if (carried !== undefined) data.carried = carried;
  await renewSession(request, viewer, data);
}

/** Goes on under a new id, as after each proof of who somebody is. */
export async function renewSession(
  request: FastifyRequest,
  viewer: Viewer,
  data: SessionData,
): Promise<void> {
  request.session.userId = viewer.userId;
  request.session.data = data;
  request.session.viewer = viewer;
  await request.session.regenerate(['userId', 'data', 'viewer']);
}

/** Says something on the next page that is shown. Texts are in the language of that page's reader already. */
export function flash(request: FastifyRequest, said: Flash): void {
  const { data } = request.session;
  if (data === undefined) return;
  data.flash = [...(data.flash ?? []), said];
}

/** Takes what is to be said. */
export function takeFlash(request: FastifyRequest): readonly Flash[] {
  const data = sessionDataOf(request);
  const said = data?.flash ?? [];
  if (data !== undefined) delete data.flash;
  return said;
}

/** The session's data; undefined where there are no sessions, as on the page about an address that leads nowhere. */
export const sessionDataOf = (request: FastifyRequest): SessionData | undefined =>
  // Outside of the pages' scope, Fastify has no session on its requests.
  (request.session as FastifyRequest['session'] | undefined)?.data;
