import ipaddr from 'ipaddr.js';
import type { Pool } from 'pg';
import { rpcError } from '../../contract/error-reason.ts';
import { countTry, countedTries, forgetTries, giveTryBack, isRemembered, remember } from './count-try.sql.ts';
import type { TryLimit } from './count-try.sql.ts';
import type { PublicId, StoredId } from '../../contract/public-id.ts';

/** Who tries to be whom, from where. */
export interface Trial {
  /** The address without regard to case, whether or not anybody has it. */
  readonly emailKey: string;
  /** An IP address, or empty. */
  readonly remoteAddress: string;
}

/** Who invites which address to which place. */
export interface InvitationTry {
  /** The person who invites: "usr_…"; empty for a program, whose service token names no person. */
  readonly inviter: string;
  readonly emailKey: string;
  /** Empty for the operators. */
  readonly merchantId: PublicId<'mer'> | '';
}

/** Keeps passwords and codes from being found by trying, and never keeps anybody out for good: every count ends by itself. */
export interface SignInTries {
  /** Counts a password before it is looked at. Errors: RESOURCE_EXHAUSTED TOO_MANY_TRIES with RetryInfo. */
  readonly countPassword: (trial: Trial) => Promise<void>;
  /** The password was right: the count begins anew, and the place is known. */
  readonly passwordWasRight: (trial: Trial) => Promise<void>;
  /** The user has a new password: what was counted of tries at the old one holds nobody up, wherever they are. */
  readonly passwordIsNew: (emailKey: string) => Promise<void>;
  /** Counts a one-time code. Errors: RESOURCE_EXHAUSTED TOO_MANY_TRIES with RetryInfo. */
  readonly countCode: (userId: StoredId<'usr'>) => Promise<void>;
  readonly codeWasRight: (userId: StoredId<'usr'>) => Promise<void>;
  /** Counts an invitation before it is made. Errors: RESOURCE_EXHAUSTED TOO_MANY_TRIES with RetryInfo. */
  readonly countInvitation: (invitation: InvitationTry) => Promise<void>;
  /** Counts a link that somebody asks for. Errors: RESOURCE_EXHAUSTED TOO_MANY_TRIES with RetryInfo. */
  readonly countReset: (trial: Trial) => Promise<void>;
}

const minute = 60;
const hour = 60 * minute;
const knownSeconds = 30 * 24 * hour;

/** The address itself for IPv4; the /64 for IPv6, which one subscriber has to itself and can change within at will. */
function networkOf(ip: string): string {
  if (!ipaddr.isValid(ip)) return '';
  const address = ipaddr.process(ip);
  return address.kind() === 'ipv4' ? address.toString() : address.toByteArray().slice(0, 8).join('.');
}

/** How often the account got a new password lately: each begins counts of its own. */
const renewals = (emailKey: string): TryLimit => ({
  what: `renewals/${emailKey}`,
  max: Infinity,
  // Longer than any count of passwords lasts, so that none is found again.
  windowSeconds: 24 * hour,
});

const limitsOf = ({ emailKey, remoteAddress }: Trial, renewed: number) => {
  const network = networkOf(remoteAddress);
  const known = `known/${emailKey}/${network}`;
  const here = { what: `here/${renewed}/${emailKey}/${network}`, max: 5, windowSeconds: 15 * minute };
  const place = { what: `place/${network}`, max: 50, windowSeconds: 15 * minute };
  const account = { what: `account/${renewed}/${emailKey}`, max: 100, windowSeconds: hour };
  return { network, known, here, place, account };
};

/** Three in 1,000,000 codes are right at a time: 40 tries a day take 15 years to even odds, and the password first. */
const codeLimits = (userId: StoredId<'usr'>): readonly TryLimit[] => [
  { what: `code/${userId}`, max: 5, windowSeconds: 15 * minute },
  { what: `codes/${userId}`, max: 40, windowSeconds: 24 * hour },
];

/**
 * Counted in this order, so that who is refused by one count does not fill the next: this account from this place; this
 * place, whatever the account; this account, wherever from. The last one does not hold for places that the account was
 * signed in from lately, or anybody could keep its owner out by failing on purpose.
 */
export function createSignInTries(pool: Pool): SignInTries {
  const count = async (limit: TryLimit): Promise<void> => {
    const waitMs = await countTry(pool, limit);
    if (waitMs === undefined) return;
    throw rpcError('TOO_MANY_TRIES', 'there were too many tries; wait before the next one', {
      retryAfterMs: waitMs,
    });
  };
  const renewedTimes = ({ emailKey }: Trial): Promise<number> => countedTries(pool, renewals(emailKey));
  return {
    async countPassword(trial) {
      const { network, known, here, place, account } = limitsOf(trial, await renewedTimes(trial));
      await count(here);
      if (network !== '') await count(place);
      if (!(await isRemembered(pool, known))) await count(account);
    },
    async passwordWasRight(trial) {
      const { network, known, here, place, account } = limitsOf(trial, await renewedTimes(trial));
      await forgetTries(pool, here);
      // Nobody makes room for trying others' accounts by signing in to their own.
      if (network !== '') await giveTryBack(pool, place);
      if (!(await isRemembered(pool, known))) await giveTryBack(pool, account);
      if (network !== '') await remember(pool, known, knownSeconds);
    },
    async passwordIsNew(emailKey) {
      await countTry(pool, renewals(emailKey));
    },
    async countCode(userId) {
      for (const limit of codeLimits(userId)) await count(limit);
    },
    async codeWasRight(userId) {
      for (const limit of codeLimits(userId)) await forgetTries(pool, limit);
    },
    async countInvitation({ inviter, emailKey, merchantId }) {
      // One merchant alone cannot use up what an address may get in an hour.
      const here = `${merchantId}/${emailKey}`;
      await count({ what: `invitations here/${here}`, max: 5, windowSeconds: hour });
      if (inviter !== '') await count({ what: `invitations by/${inviter}`, max: 20, windowSeconds: hour });
      await count({ what: `invitations of/${emailKey}`, max: 10, windowSeconds: hour });
    },
    async countReset({ emailKey, remoteAddress }) {
      const network = networkOf(remoteAddress);
      if (network !== '') await count({ what: `resets from/${network}`, max: 20, windowSeconds: hour });
      await count({ what: `resets of/${emailKey}`, max: 5, windowSeconds: hour });
    },
  };
}
