import type { DashboardClients } from '../clients.ts';
import { isLanguage } from '../../platform/language/language.ts';
import type { AccountMail } from '../../gen/gatehouse/v1/account_service_pb.js';
import { momentOf } from '../moment-text.ts';
import { noticeText, noticeWords } from './account-notice-text.ts';
import type { Mail, Mailer } from './mailer.ts';
import { mailWords, resetLink } from './mail-links.ts';

export interface AccountMailParts {
  readonly accounts: DashboardClients['accounts'];
  readonly mailer: Mailer;
  readonly baseUrl: () => string;
  readonly timeZone: string;
  readonly newRequestId: () => string;
}

const deadlineMs = 5_000;

/** Sends core's mails to users: links that operators requested, and notices of changes of an account. */
export async function sendAccountMails(parts: AccountMailParts): Promise<void> {
  const requestId = parts.newRequestId();
  const headers = { 'x-request-id': requestId };
  const { mails } = await parts.accounts.takeAccountMails({}, { timeoutMs: deadlineMs, headers });
  await Promise.all(
    mails.flatMap((mail) => {
      const written = writeMail(mail, parts);
      return written === undefined ? [] : [parts.mailer.send({ to: mail.email, requestId, ...written })];
    }),
  );
}

function writeMail(
  { language: named, resetToken, expireTime, notice }: AccountMail,
  { baseUrl, timeZone }: AccountMailParts,
): Pick<Mail, 'about' | 'subject' | 'text'> | undefined {
  const language = isLanguage(named) ? named : 'en';
  if (resetToken !== '') {
    const { reset } = mailWords[language];
    const until = momentOf(expireTime, language, timeZone)?.text ?? '';
    const text = reset.text(resetLink(baseUrl(), resetToken), until);
    return { about: { kind: 'password' }, subject: reset.subject, text };
  }
  const what = notice === undefined ? undefined : noticeText(notice, language, timeZone);
  const { subject, mail } = noticeWords[language];
  return what === undefined ? undefined : { about: { kind: 'notice' }, subject, text: mail(what) };
}
