import { AccountNoticeEvent } from '../../gen/gatehouse/v1/account_service_pb.js';
import type { AccountNotice } from '../../gen/gatehouse/v1/account_service_pb.js';
import type { Language } from '../../platform/language/language.ts';
import { notices as amharic } from '../language/amharic/notices.ts';
import { notices as english } from '../language/english/notices.ts';
import { momentOf } from '../moment-text.ts';

export const noticeWords = { en: english, am: amharic };

const eventNames: Readonly<Partial<Record<AccountNoticeEvent, keyof typeof english.events>>> = {
  [AccountNoticeEvent.NEW_PASSWORD_ASKED]: 'NEW_PASSWORD_ASKED',
  [AccountNoticeEvent.NEW_PASSWORD_APPROVED]: 'NEW_PASSWORD_APPROVED',
  [AccountNoticeEvent.PASSWORD_RESET]: 'PASSWORD_RESET',
  [AccountNoticeEvent.SECOND_FACTOR_REMOVAL_ASKED]: 'SECOND_FACTOR_REMOVAL_ASKED',
  [AccountNoticeEvent.SECOND_FACTOR_REMOVED]: 'SECOND_FACTOR_REMOVED',
  [AccountNoticeEvent.OWNER_INVITED]: 'OWNER_INVITED',
};

/** The notice as a sentence; undefined for an event of a newer core. */
export function noticeText(
  { event, createTime, subject }: AccountNotice,
  language: Language,
  timeZone: string,
): string | undefined {
  const name = eventNames[event];
  if (name === undefined) return undefined;
  const when = momentOf(createTime, language, timeZone)?.text ?? '';
  return noticeWords[language].events[name](when, subject);
}
