import { create } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { MemberRole as RoleMessage, UserSchema } from '../../gen/gatehouse/v1/account_service_pb.js';
import type { User as UserMessage } from '../../gen/gatehouse/v1/account_service_pb.js';
import type { MemberRole } from '../database/account-entities.ts';
import type { User } from './user-reader.ts';

export const roleNumbers = {
  OWNER: RoleMessage.OWNER,
  DEVELOPER: RoleMessage.DEVELOPER,
  VIEWER: RoleMessage.VIEWER,
} as const satisfies Record<MemberRole, RoleMessage>;

/** A user as they are sent. */
export function userMessage(user: User): UserMessage {
  const message = create(UserSchema, {
    userId: user.id,
    email: user.email,
    name: user.name,
    language: user.language,
    isOperator: user.isOperator,
    isDisabled: user.isDisabled,
    isTotpEnabled: user.isTotpEnabled,
    memberships: user.memberships.map(({ role, ...place }) => ({ ...place, role: roleNumbers[role] })),
    createTime: timestampFromDate(user.createdAt),
  });
  if (user.lastSignInAt !== null) message.lastSignInTime = timestampFromDate(user.lastSignInAt);
  return message;
}
