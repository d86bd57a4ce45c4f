import type { Role } from './viewer.ts';

/** Who may ask for something. */
export type AccessRule =
  | { readonly who: 'everyone' }
  | { readonly who: 'signed-in'; readonly stepUp: boolean }
  | {
      readonly who: 'member';
      /** At least this, at the merchant that the path names. */
      readonly role: Role;
      /** Whether operators may, who belong to no merchant. They may look at everything that members may look at. */
      readonly operators: boolean;
      readonly stepUp: boolean;
    }
  | { readonly who: 'operator'; readonly stepUp: boolean };

interface RuleOptions {
  /** Asks for a new proof of who they are, unless the last one is of the last ten minutes. */
  readonly stepUp?: boolean;
}

/** Also whoever has not signed in. */
export const everyone: AccessRule = { who: 'everyone' };
/** Whoever has signed in. */
export const signedIn = ({ stepUp = false }: RuleOptions = {}): AccessRule => ({ who: 'signed-in', stepUp });
/** Whoever runs the gateway; for all others the path leads nowhere. */
export const operator = ({ stepUp = false }: RuleOptions = {}): AccessRule => ({ who: 'operator', stepUp });
/** Members of the merchant with at least this role, and operators: for what changes nothing. */
export const look = (role: Role, { stepUp = false }: RuleOptions = {}): AccessRule => ({
  who: 'member',
  role,
  operators: true,
  stepUp,
});
/** Members of the merchant with at least this role. */
export const change = (role: Role, { stepUp = false }: RuleOptions = {}): AccessRule => ({
  who: 'member',
  role,
  operators: false,
  stepUp,
});
