import type { Timestamp } from '@bufbuild/protobuf/wkt';
import type { FastifyRequest } from 'fastify';
import type { Dashboard } from '../dashboard.ts';
import { mails as amharic } from '../language/amharic/mails.ts';
import { mails as english } from '../language/english/mails.ts';
import { wordsFor } from '../language/words.ts';
import { momentOf } from '../moment-text.ts';

const dictionary = { en: english, am: amharic };

/** A one-time link and whom it is for. */
export interface LinkMail {
  readonly to: string;
  readonly token: string;
  readonly expireTime: Timestamp | undefined;
}

/** Where an invitation is taken up. */
export const invitationLink = ({ baseUrl }: Dashboard, token: string): string =>
  `${baseUrl()}/invitation/${token}`;

/**
 * Mails an invitation, in the language of whoever invites; `merchantName` is undefined for an operator. False when no mail
 * is set up: the link is to be told in another way then.
 */
export function mailInvitation(
  dashboard: Dashboard,
  request: FastifyRequest,
  { to, token, expireTime, merchantName }: LinkMail & { readonly merchantName: string | undefined },
): boolean {
  if (dashboard.mailer === undefined) return false;
  const { invitation } = wordsFor(request, dictionary);
  const until = momentOf(expireTime, request.language, dashboard.timeZone)?.text ?? '';
  const subject = invitation.subject(merchantName ?? 'Gatehouse');
  dashboard.mailer.send({ to, subject, text: invitation.text(invitationLink(dashboard, token), until) });
  return true;
}

/** Mails a link to choose a new password with. */
export function mailReset(
  dashboard: Dashboard,
  request: FastifyRequest,
  { to, token, expireTime }: LinkMail,
): void {
  const { reset } = wordsFor(request, dictionary);
  const until = momentOf(expireTime, request.language, dashboard.timeZone)?.text ?? '';
  const text = reset.text(`${dashboard.baseUrl()}/reset/${token}`, until);
  dashboard.mailer?.send({ to, subject: reset.subject, text });
}
