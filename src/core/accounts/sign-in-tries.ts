import type { Pool } from 'pg';
import { networkOf, siteOf } from '../../platform/http/client-address.ts';
import { rpcError } from '../../contract/error-reason.ts';
import {
  countTry,
  countedTries,
  forgetTries,
  uncountTry,
  isRemembered,
  remember,
  readWaitMs,
} from './count-try.sql.ts';
import type { TryLimit } from './count-try.sql.ts';
import type { Visitor } from './account-turns.ts';
import type { PublicId, StoredId } from '../../contract/public-id.ts';

/** The account of a sign-in try, and its origin. */
export interface SignInTry {
  /** The address in lower case, whether or not it has an account. */
  readonly emailKey: string;
  /** An IP address, or empty. */
  readonly remoteAddress: string;
  /** A secret of the browser, or empty. */
  readonly browserSecret: string;
}

/** The account of a one-time code, and its browser. */
export interface CodeTry {
  readonly userId: StoredId<'usr'>;
  /** A secret of the browser, or empty. */
  readonly browserSecret: string;
}

/** The inviter, the invited address and its merchant. */
export interface InvitationTry {
  /** The inviting person: "usr_…"; empty for a program, whose service token names no person. */
  readonly inviter: string;
  readonly emailKey: string;
  /** Empty for the operators. */
  readonly merchantId: PublicId<'mer'> | '';
}

/** Limits guesses of passwords and codes. No account is locked permanently, because every count expires. */
export interface SignInTries {
  /**
   * Refuses a network that has no tries left, unless the browser is known, and counts nothing. A flood from such a network then
   * writes no rows. Errors: RESOURCE_EXHAUSTED TOO_MANY_TRIES with RetryInfo.
   */
  readonly requireNetworkTries: (signInTry: SignInTry) => Promise<void>;
  /** Whether the account is known in the browser or the network. Counts nothing. */
  readonly visitorOf: (signInTry: SignInTry) => Promise<Visitor>;
  /** Counts a password before it is checked. Errors: RESOURCE_EXHAUSTED TOO_MANY_TRIES with RetryInfo. */
  readonly countPassword: (signInTry: SignInTry) => Promise<void>;
  /** The password was correct. The count is reset, and the network and the browser are remembered as known. */
  readonly recordRightPassword: (signInTry: SignInTry) => Promise<void>;
  /** The user has a new password. Earlier tries with the old one no longer count, from any network. */
  readonly recordNewPassword: (emailKey: string) => Promise<void>;
  /** The place of a person who enters a code, for the turns of the account. Counts nothing. */
  readonly placeOfCode: (codeTry: CodeTry, remoteAddress: string) => Promise<string>;
  /** Counts a one-time code. Errors: RESOURCE_EXHAUSTED TOO_MANY_TRIES with RetryInfo. */
  readonly countCode: (codeTry: CodeTry) => Promise<void>;
  /** The code was correct. The count is reset, and the browser is remembered as known for codes. */
  readonly recordRightCode: (codeTry: CodeTry) => Promise<void>;
  /** Counts an invitation before it is made. Errors: RESOURCE_EXHAUSTED TOO_MANY_TRIES with RetryInfo. */
  readonly countInvitation: (invitation: InvitationTry) => Promise<void>;
  /** Counts a change of a profile before it is made, because the audit log is permanent. Errors: RESOURCE_EXHAUSTED TOO_MANY_TRIES with RetryInfo. */
  readonly countProfile: (userId: PublicId<'usr'>) => Promise<void>;
  /**
   * Counts a sign-in with the correct password alone before it is recorded, because the audit log is permanent. A new password starts a new
   * count. Errors: RESOURCE_EXHAUSTED TOO_MANY_TRIES with RetryInfo.
   */
  readonly countSignIn: (emailKey: string) => Promise<void>;
  /** Counts a change of a password, once the current one was correct, for the same reason. Errors: RESOURCE_EXHAUSTED TOO_MANY_TRIES with RetryInfo. */
  readonly countPasswordChange: (userId: PublicId<'usr'>) => Promise<void>;
  /** Counts a requested link. Errors: RESOURCE_EXHAUSTED TOO_MANY_TRIES with RetryInfo. */
  readonly countReset: (signInTry: SignInTry) => Promise<void>;
}

const minute = 60;
const hour = 60 * minute;
const knownSeconds = 30 * 24 * hour;

/** The number of recent new passwords of the account. Each starts separate counts. */
const renewals = (emailKey: string): TryLimit => ({
  counter: `renewals/${emailKey}`,
  max: Infinity,
  // Longer than any count of passwords, so that an old count is never used again.
  windowSeconds: 24 * hour,
});

const networkLimit = (network: string): TryLimit => ({
  counter: `place/${network}`,
  max: 50,
  windowSeconds: 15 * minute,
});

const knownNetwork = ({ emailKey, remoteAddress }: SignInTry): string =>
  `known/${emailKey}/${networkOf(remoteAddress)}`;

const limitsOf = (signInTry: SignInTry, renewed: number) => {
  const { emailKey, remoteAddress } = signInTry;
  const network = networkOf(remoteAddress);
  const known = knownNetwork(signInTry);
  const here = { counter: `here/${renewed}/${emailKey}/${network}`, max: 5, windowSeconds: 15 * minute };
  const wholeNetwork = networkLimit(network);
  const account = { counter: `account/${renewed}/${emailKey}`, max: 100, windowSeconds: hour };
  return { network, known, here, wholeNetwork, account };
};

const knownBrowser = ({ emailKey, browserSecret }: SignInTry): string =>
  `browser/${emailKey}/${browserSecret}`;

const browserLimit = ({ emailKey, browserSecret }: SignInTry, renewed: number): TryLimit => ({
  counter: `in browser/${renewed}/${emailKey}/${browserSecret}`,
  max: 5,
  windowSeconds: 15 * minute,
});

/**
 * Three of 1,000,000 codes are valid at a time. With 40 tries a day, a 50 % chance takes 15 years, and the password is
 * needed first.
 */
const codeLimits = (whose: string): readonly TryLimit[] => [
  { counter: `code/${whose}`, max: 5, windowSeconds: 15 * minute },
  { counter: `codes/${whose}`, max: 40, windowSeconds: 24 * hour },
];

const browserPlace = (browserSecret: string): string => `browser ${browserSecret}`;

const codeBrowser = ({ userId, browserSecret }: CodeTry): string => `code browser/${userId}/${browserSecret}`;

/**
 * Three limits apply in this order: the tries of this account from this network, of all accounts from this network, and of this account
 * from all networks. A try that one limit refuses is not counted by the next.
 * The last limit does not apply to networks from which the account signed in recently. Otherwise anyone could lock out its owner by failing on purpose.
 *
 * None of them applies to a browser in which the account signed in recently. Such a browser has a limit of its own. Otherwise an attacker
 * could lock out all users of the same network: all customers of a mobile operator may share one address. A browser in which a code of the
 * account was right has limits of its own for codes. So an attacker who knows the password cannot lock out the owner either. Password reset
 * links follow the same rule: attackers cannot use up the links of a known browser.
 */
export function createSignInTries(pool: Pool): SignInTries {
  const refuse = (waitMs: number | undefined): void => {
    if (waitMs === undefined) return;
    throw rpcError('TOO_MANY_TRIES', 'too many tries; wait before the next one', {
      retryAfterMs: waitMs,
    });
  };
  const count = async (limit: TryLimit): Promise<void> => refuse(await countTry(pool, limit));
  const isKnownBrowser = async (signInTry: SignInTry): Promise<boolean> =>
    signInTry.browserSecret !== '' && (await isRemembered(pool, knownBrowser(signInTry)));
  const isKnownCodeBrowser = async (codeTry: CodeTry): Promise<boolean> =>
    codeTry.browserSecret !== '' && (await isRemembered(pool, codeBrowser(codeTry)));
  const codeLimitsOf = async (codeTry: CodeTry): Promise<readonly TryLimit[]> => {
    const isKnown = await isKnownCodeBrowser(codeTry);
    return codeLimits(isKnown ? `${codeTry.userId}/${codeTry.browserSecret}` : codeTry.userId);
  };
  const renewedTimes = ({ emailKey }: SignInTry): Promise<number> => countedTries(pool, renewals(emailKey));
  return {
    async requireNetworkTries(signInTry) {
      const network = networkOf(signInTry.remoteAddress);
      const waitMs = network === '' ? undefined : await readWaitMs(pool, networkLimit(network));
      if (waitMs !== undefined && !(await isKnownBrowser(signInTry))) refuse(waitMs);
    },
    async visitorOf(signInTry) {
      const { emailKey, remoteAddress, browserSecret } = signInTry;
      const site = siteOf(remoteAddress);
      if (await isKnownBrowser(signInTry))
        return { kind: 'known', emailKey, place: browserPlace(browserSecret), site };
      const isNeighbour = await isRemembered(pool, knownNetwork(signInTry));
      return { kind: isNeighbour ? 'neighbour' : 'unknown', site };
    },
    async countPassword(signInTry) {
      const renewed = await renewedTimes(signInTry);
      if (await isKnownBrowser(signInTry)) return count(browserLimit(signInTry, renewed));
      const { network, known, here, wholeNetwork, account } = limitsOf(signInTry, renewed);
      await count(here);
      if (network !== '') await count(wholeNetwork);
      if (!(await isRemembered(pool, known))) await count(account);
    },
    async recordRightPassword(signInTry) {
      const renewed = await renewedTimes(signInTry);
      const { network, known, here, wholeNetwork, account } = limitsOf(signInTry, renewed);
      if (await isKnownBrowser(signInTry)) await forgetTries(pool, browserLimit(signInTry, renewed));
      else {
        await forgetTries(pool, here);
        // A sign-in to one's own account gives no more tries at other accounts.
        if (network !== '') await uncountTry(pool, wholeNetwork);
        if (!(await isRemembered(pool, known))) await uncountTry(pool, account);
      }
      if (network !== '') await remember(pool, known, knownSeconds);
      if (signInTry.browserSecret !== '') await remember(pool, knownBrowser(signInTry), knownSeconds);
    },
    async recordNewPassword(emailKey) {
      await countTry(pool, renewals(emailKey));
    },
    placeOfCode: async (codeTry, remoteAddress) =>
      (await isKnownCodeBrowser(codeTry)) ? browserPlace(codeTry.browserSecret) : siteOf(remoteAddress),
    async countCode(codeTry) {
      for (const limit of await codeLimitsOf(codeTry)) await count(limit);
    },
    async recordRightCode(codeTry) {
      for (const limit of await codeLimitsOf(codeTry)) await forgetTries(pool, limit);
      if (codeTry.browserSecret !== '') await remember(pool, codeBrowser(codeTry), knownSeconds);
    },
    async countInvitation({ inviter, emailKey, merchantId }) {
      const here = { counter: `invitations here/${merchantId}/${emailKey}`, max: 5, windowSeconds: hour };
      await count(here);
      if (inviter !== '') await count({ counter: `invitations by/${inviter}`, max: 20, windowSeconds: hour });
      // The first invitation of a merchant is not counted, so that other merchants cannot prevent it.
      if ((await countedTries(pool, here)) === 1) return;
      await count({ counter: `invitations of/${emailKey}`, max: 10, windowSeconds: hour });
    },
    countProfile: (userId) => count({ counter: `profiles/${userId}`, max: 20, windowSeconds: hour }),
    async countSignIn(emailKey) {
      const renewed = await countedTries(pool, renewals(emailKey));
      await count({ counter: `sign-ins/${renewed}/${emailKey}`, max: 100, windowSeconds: hour });
    },
    countPasswordChange: (userId) =>
      count({ counter: `new passwords/${userId}`, max: 20, windowSeconds: hour }),
    async countReset(signInTry) {
      const { emailKey, remoteAddress, browserSecret } = signInTry;
      if (await isKnownBrowser(signInTry))
        return count({
          counter: `resets in browser/${emailKey}/${browserSecret}`,
          max: 5,
          windowSeconds: hour,
        });
      const network = networkOf(remoteAddress);
      if (network !== '') await count({ counter: `resets from/${network}`, max: 20, windowSeconds: hour });
      await count({ counter: `resets of/${emailKey}`, max: 5, windowSeconds: hour });
    },
  };
}
