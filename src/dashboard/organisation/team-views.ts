import { MemberRole } from '../../gen/gatehouse/v1/account_service_pb.js';
import type { ListUsersResponse } from '../../gen/gatehouse/v1/account_service_pb.js';
import type { Language } from '../../platform/language/language.ts';
import type { team } from '../language/english/team.ts';
import { momentOf } from '../moment-text.ts';
import { memberRoles } from '../access/dashboard-user.ts';
import type { Role } from '../access/dashboard-user.ts';

export const roleNumbers: Readonly<Record<Role, MemberRole>> = {
  owner: MemberRole.OWNER,
  developer: MemberRole.DEVELOPER,
  viewer: MemberRole.VIEWER,
};

const roleOf = (role: MemberRole | undefined): Role | 'operator' =>
  memberRoles.find((name) => roleNumbers[name] === role) ?? 'operator';

interface TeamPage {
  readonly language: Language;
  readonly timeZone: string;
  /** The user of the page. */
  readonly userId: string;
}

/** The rows of users and of invitations. */
export function teamView(
  { users, invitations, hasMore }: ListUsersResponse,
  words: typeof team,
  roleWords: Readonly<Record<Role | 'operator', string>>,
  { language, timeZone, userId }: TeamPage,
) {
  return {
    hasMore,
    users: users.map((user) => {
      const role = roleOf(user.memberships[0]?.role);
      return {
        id: user.userId,
        name: user.name,
        email: user.email,
        role,
        roleText: roleWords[role],
        isYou: user.userId === userId,
        isDisabled: user.isDisabled,
        state: user.isDisabled ? words.states.out : words.states.in,
        hasCodes: user.isTotpEnabled,
        lastSignIn: momentOf(user.lastSignInTime, language, timeZone),
      };
    }),
    invitations: invitations.map(({ email, role, expireTime }) => ({
      email,
      roleText: roleWords[roleOf(role)],
      until: momentOf(expireTime, language, timeZone),
    })),
  };
}
