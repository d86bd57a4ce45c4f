import type { Timestamp } from '@bufbuild/protobuf/wkt';
import type { FastifyRequest } from 'fastify';
import pTimeout from 'p-timeout';
import type { Dashboard } from '../dashboard.ts';
import { mails as amharic } from '../language/amharic/mails.ts';
import { mails as english } from '../language/english/mails.ts';
import { wordsFor } from '../language/words.ts';
import { momentOf } from '../moment-text.ts';

export const mailWords = { en: english, am: amharic };

/** The URL of the page to choose a new password. */
export const resetLink = (baseUrl: string, token: string): string => `${baseUrl}/reset/${token}`;

/** A one-time link and its recipient. */
export interface LinkMail {
  readonly to: string;
  readonly token: string;
  readonly expireTime: Timestamp | undefined;
}

/** The URL of the page to accept an invitation. */
export const invitationLink = ({ baseUrl }: Dashboard, token: string): string =>
  `${baseUrl()}/invitation/${token}`;

/** The result of a mail: `not-known` when the mail server refused it or has not answered, `too-many` when others wait for the server. */
export type MailOutcome = 'not-set-up' | 'sent' | 'not-known' | 'too-many';

/** How long the inviter waits for the result of the mail. */
const patienceMs = 8_000;

/** The merchant of an invitation; undefined for an operator. */
export interface InvitingMerchant {
  readonly merchantId: string;
  readonly merchantName: string;
}

/**
 * Mails an invitation in the inviter's language. Unless the result is `sent`,
 * the inviter must pass the link on in another way.
 */
export async function mailInvitation(
  dashboard: Dashboard,
  request: FastifyRequest,
  { to, token, expireTime, merchant }: LinkMail & { readonly merchant: InvitingMerchant | undefined },
): Promise<MailOutcome> {
  if (dashboard.mailer === undefined) return 'not-set-up';
  const { invitation } = wordsFor(request, mailWords);
  const until = momentOf(expireTime, request.language, dashboard.timeZone)?.text ?? '';
  const subject = invitation.subject(merchant?.merchantName ?? 'Gatehouse');
  const text = invitation.text(invitationLink(dashboard, token), until);
  const about = { kind: 'invitation', merchantId: merchant?.merchantId } as const;
  const sending = dashboard.mailer.send({ about, to, subject, text, requestId: request.id });
  const result = await pTimeout(sending, { milliseconds: patienceMs, fallback: () => 'failed' as const });
  return result === 'failed' ? 'not-known' : result;
}

/**
 * Mails a link to choose a new password, in the background. Otherwise the duration and the result would reveal whether the
 * account exists.
 */
export function mailReset(
  dashboard: Dashboard,
  request: FastifyRequest,
  { to, token, expireTime }: LinkMail,
): void {
  const { reset } = wordsFor(request, mailWords);
  const until = momentOf(expireTime, request.language, dashboard.timeZone)?.text ?? '';
  const text = reset.text(resetLink(dashboard.baseUrl(), token), until);
  const about = { kind: 'password' } as const;
  void dashboard.mailer?.send({ about, to, subject: reset.subject, text, requestId: request.id });
}
