import { create } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import {
  AccountHelp,
  AccountNoticeEvent,
  AccountNoticeSchema,
  MemberRole as RoleMessage,
  UserSchema,
} from '../../gen/gatehouse/v1/account_service_pb.js';
import type { User as UserMessage } from '../../gen/gatehouse/v1/account_service_pb.js';
import type { HelpKind, MemberRole, NoticeEvent } from '../database/account-entities.ts';
import type { AccountNotice } from './account-notices.ts';
import type { User } from './user-reader.ts';

export const roleNumbers = {
  OWNER: RoleMessage.OWNER,
  DEVELOPER: RoleMessage.DEVELOPER,
  VIEWER: RoleMessage.VIEWER,
} as const satisfies Record<MemberRole, RoleMessage>;

export const helpNumbers = {
  NEW_PASSWORD: AccountHelp.NEW_PASSWORD,
  REMOVE_SECOND_FACTOR: AccountHelp.REMOVE_SECOND_FACTOR,
} as const satisfies Record<HelpKind, AccountHelp>;

const eventNumbers = {
  NEW_PASSWORD_ASKED: AccountNoticeEvent.NEW_PASSWORD_ASKED,
  NEW_PASSWORD_APPROVED: AccountNoticeEvent.NEW_PASSWORD_APPROVED,
  PASSWORD_RESET: AccountNoticeEvent.PASSWORD_RESET,
  SECOND_FACTOR_REMOVAL_ASKED: AccountNoticeEvent.SECOND_FACTOR_REMOVAL_ASKED,
  SECOND_FACTOR_REMOVED: AccountNoticeEvent.SECOND_FACTOR_REMOVED,
  OWNER_INVITED: AccountNoticeEvent.OWNER_INVITED,
} as const satisfies Record<NoticeEvent, AccountNoticeEvent>;

/** A notice in the contract's form. */
export const noticeMessage = ({ event, createdAt, subject }: AccountNotice) =>
  create(AccountNoticeSchema, {
    event: eventNumbers[event],
    createTime: timestampFromDate(createdAt),
    subject,
  });

/** A user in the contract's form. */
export function userMessage(user: User): UserMessage {
  const message = create(UserSchema, {
    userId: user.id,
    email: user.email,
    name: user.name,
    language: user.language,
    isOperator: user.isOperator,
    isDisabled: user.isDisabled,
    isTotpEnabled: user.isTotpEnabled,
    memberships: user.memberships.map(({ role, ...membership }) => ({
      ...membership,
      role: roleNumbers[role],
    })),
    createTime: timestampFromDate(user.createdAt),
  });
  if (user.lastSignInAt !== null) message.lastSignInTime = timestampFromDate(user.lastSignInAt);
  return message;
}
