import { MemberRole } from '../../gen/gatehouse/v1/account_service_pb.js';
import type { User } from '../../gen/gatehouse/v1/account_service_pb.js';
import { isLanguage } from '../../platform/language/language.ts';
import type { Language } from '../../platform/language/language.ts';

/** What somebody may do for a merchant, the least first: each may do what those before it may. */
export const memberRoles = ['viewer', 'developer', 'owner'] as const;
export type Role = (typeof memberRoles)[number];

/** Whether `role` may do what `least` may. */
export const isAtLeast = (role: Role, least: Role): boolean =>
  memberRoles.indexOf(role) >= memberRoles.indexOf(least);

const roleNames: Readonly<Record<MemberRole, Role | undefined>> = {
  [MemberRole.UNSPECIFIED]: undefined,
  [MemberRole.VIEWER]: 'viewer',
  [MemberRole.DEVELOPER]: 'developer',
  [MemberRole.OWNER]: 'owner',
};

/** Somebody who has signed in, as core has them at this moment. */
export interface Viewer {
  readonly userId: string;
  readonly email: string;
  readonly name: string;
  /** The language they chose for their pages; undefined when it is none of ours. */
  readonly language: Language | undefined;
  readonly isOperator: boolean;
  readonly isTotpEnabled: boolean;
  readonly memberships: readonly {
    readonly merchantId: string;
    readonly merchantName: string;
    readonly role: Role;
  }[];
}

export function viewerOfUser(user: User): Viewer {
  return {
    userId: user.userId,
    email: user.email,
    name: user.name,
    language: isLanguage(user.language) ? user.language : undefined,
    isOperator: user.isOperator,
    isTotpEnabled: user.isTotpEnabled,
    memberships: user.memberships.flatMap(({ merchantId, merchantName, role }) => {
      const name = roleNames[role];
      return name === undefined ? [] : [{ merchantId, merchantName, role: name }];
    }),
  };
}
