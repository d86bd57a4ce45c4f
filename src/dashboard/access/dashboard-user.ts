import { MemberRole } from '../../gen/gatehouse/v1/account_service_pb.js';
import type { User } from '../../gen/gatehouse/v1/account_service_pb.js';
import { isLanguage } from '../../platform/language/language.ts';
import type { Language } from '../../platform/language/language.ts';

/** The roles at a merchant, the weakest first. Each includes the permissions of those before it. */
export const memberRoles = ['viewer', 'developer', 'owner'] as const;
export type Role = (typeof memberRoles)[number];

/** Whether `role` includes the permissions of `least`. */
export const isAtLeast = (role: Role, least: Role): boolean =>
  memberRoles.indexOf(role) >= memberRoles.indexOf(least);

const roleNames: Readonly<Record<MemberRole, Role | undefined>> = {
  [MemberRole.UNSPECIFIED]: undefined,
  [MemberRole.VIEWER]: 'viewer',
  [MemberRole.DEVELOPER]: 'developer',
  [MemberRole.OWNER]: 'owner',
};

/** A user of the dashboard, with core's current data. */
export interface DashboardUser {
  readonly userId: string;
  readonly email: string;
  readonly name: string;
  /** The user's language setting; undefined when the dashboard does not have that language. */
  readonly language: Language | undefined;
  readonly isOperator: boolean;
  readonly isTotpEnabled: boolean;
  /** Of the password and the second factor when core read the user. */
  readonly passwordVersion: string;
  readonly memberships: readonly {
    readonly merchantId: string;
    readonly merchantName: string;
    readonly role: Role;
  }[];
}

export function dashboardUserFrom(user: User, passwordVersion: string): DashboardUser {
  return {
    userId: user.userId,
    email: user.email,
    name: user.name,
    language: isLanguage(user.language) ? user.language : undefined,
    isOperator: user.isOperator,
    isTotpEnabled: user.isTotpEnabled,
    passwordVersion,
    memberships: user.memberships.flatMap(({ merchantId, merchantName, role }) => {
      const name = roleNames[role];
      return name === undefined ? [] : [{ merchantId, merchantName, role: name }];
    }),
  };
}
