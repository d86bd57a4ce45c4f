import type { FastifyRequest } from 'fastify';
import type { CarriedForm, Flash, SessionData } from './session-data.ts';
import type { DashboardUser } from '../access/dashboard-user.ts';

/** The contents of the new session. */
export interface AfterSignIn {
  readonly next: string | undefined;
  readonly carried: CarriedForm | undefined;
}

/**
 * Begins a user's session under a new id, so that an id from before the sign-in is useless to an attacker.
 * With `stage` `code` the user is not signed in yet.
 */
export async function beginSession(
  request: FastifyRequest,
  user: DashboardUser,
  stage: SessionData['stage'],
  { next, carried }: AfterSignIn,
  nowMs: number,
): Promise<void> {
  const data: SessionData = { stage, signedInAt: nowMs, provedAt: nowMs, seenAt: nowMs };
  if (next !== undefined) data.next = next;
  if (carried !== undefined) data.carried = carried;
  await renewSession(request, user, data);
}

/**
 * Continues the session under a new id, after each confirmed identity. Core refuses it if the password or the one-time codes were
 * changed since `user` was read.
 */
export async function renewSession(
  request: FastifyRequest,
  user: DashboardUser,
  data: SessionData,
): Promise<void> {
  request.session.userId = user.userId;
  request.session.data = data;
  request.session.user = user;
  try {
    await request.session.regenerate(['userId', 'data', 'user']);
  } catch (error) {
    // The error page must not store the refused session.
    request.session.userId = undefined;
    throw error;
  }
}

/** Shows a message on the next page. The text is in the user's language already. */
export function flash(request: FastifyRequest, message: Flash): void {
  const { data } = request.session;
  if (data === undefined) return;
  data.flash = [...(data.flash ?? []), message];
}

/** Removes and returns the messages to show. */
export function takeFlash(request: FastifyRequest): readonly Flash[] {
  const data = sessionDataOf(request);
  const messages = data?.flash ?? [];
  if (data !== undefined) delete data.flash;
  return messages;
}

/** The session's data; undefined for requests without a session, such as an unknown path. */
const sessionDataOf = (request: FastifyRequest): SessionData | undefined =>
  // Outside of the pages' scope, requests have no session.
  (request.session as FastifyRequest['session'] | undefined)?.data;
