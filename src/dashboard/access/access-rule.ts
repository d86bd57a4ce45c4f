import type { Role } from './dashboard-user.ts';

/** The users who may use a route. */
export type AccessRule =
  | { readonly who: 'everyone' }
  | { readonly who: 'signed-in'; readonly stepUp: boolean }
  | {
      readonly who: 'member';
      /** The lowest role at the merchant in the path. */
      readonly role: Role;
      /** Whether operators may use it. They belong to no merchant, and may read everything that members may read. */
      readonly operators: boolean;
      readonly stepUp: boolean;
    }
  | { readonly who: 'operator'; readonly stepUp: boolean };

interface RuleOptions {
  /** Requires that the user confirmed their own identity in the last ten minutes. */
  readonly stepUp?: boolean;
}

/** Everyone, signed in or not. */
export const everyone: AccessRule = { who: 'everyone' };
/** Every signed-in user. */
export const signedIn = ({ stepUp = false }: RuleOptions = {}): AccessRule => ({ who: 'signed-in', stepUp });
/** Operators. For all others the path is not found. */
export const operator = ({ stepUp = false }: RuleOptions = {}): AccessRule => ({ who: 'operator', stepUp });
/** Members of the merchant with at least this role, and operators. For pages that change nothing. */
export const membersMayRead = (role: Role): AccessRule => ({
  who: 'member',
  role,
  operators: true,
  stepUp: false,
});
/** Members of the merchant with at least this role. */
export const membersMayChange = (role: Role, { stepUp = false }: RuleOptions = {}): AccessRule => ({
  who: 'member',
  role,
  operators: false,
  stepUp,
});
