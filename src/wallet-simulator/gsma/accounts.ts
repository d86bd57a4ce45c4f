import { refusedError } from './refusal.ts';

/** One identifier of an account, such as `{ key: 'msisdn', value: '+251911000000' }`. */
export interface Party {
  readonly key: string;
  readonly value: string;
}

/** The merchant account that every simulated wallet has. */
export const merchantParty: Party = { key: 'accountid', value: '2999' };

/** The payer of a request that names the payee only. A real wallet takes the payer from the payer's own access token. */
export const authenticatedPayer: Party = { key: 'msisdn', value: '251911000000' };

/** The merchant's account in the ledger. */
export const merchantAccount = 'accountid@2999';

/** Other merchants' accounts: `accountid` 3001 to 3009. They are empty at the start. */
const otherMerchant = /^300[1-9]$/;

/** Whether merchant payments may go to an account. */
export const isMerchantAccount = (account: string): boolean =>
  account === merchantAccount || /^accountid@300[1-9]$/.test(account);

/** A subscriber's account in the ledger. */
export const subscriberAccount = (msisdn: string): string => `msisdn@${msisdn}`;

/** The digits of a subscriber's phone number; undefined for other texts (E.164: 15 digits at most). */
export function readMsisdn(text: string): string | undefined {
  return /^\+?([1-9][0-9]{7,14})$/.exec(text)?.[1];
}

/**
 * A subscriber's number, digits only, with or without plus. Other identifiers are ignored, because this wallet identifies
 * its customers by their numbers.
 * @throws RefusedError validation: there is no msisdn, or it is invalid.
 */
export function payerMsisdn(parties: readonly Party[], field: 'debitParty' | 'creditParty'): string {
  const given = parties.find(({ key }) => key === 'msisdn');
  if (given === undefined) {
    throw refusedError('validation', 'mandatoryValueNotSupplied', `${field} must have an msisdn`, {
      [field]: 'msisdn',
    });
  }
  const msisdn = readMsisdn(given.value);
  if (msisdn === undefined) {
    throw refusedError('validation', 'formatError', `The msisdn of ${field} is not a phone number`, {
      [field]: 'msisdn',
    });
  }
  return msisdn;
}

/**
 * The account of the identifiers: the merchant's, or a subscriber's. Every phone number has a subscriber.
 * @throws RefusedError identification: no such account.
 */
export function findAccount(parties: readonly Party[], field: string): string {
  const account = accountIfKnown(parties);
  if (account !== undefined) return account;
  const named = parties.map(({ key, value }) => `${key}@${value}`).join('$');
  throw refusedError('identification', 'identifierError', 'There is no such account', {
    [field]: named.slice(0, 256),
  });
}

/** The account of the identifiers; undefined if there is none. */
export function accountIfKnown(parties: readonly Party[] = []): string | undefined {
  for (const { key, value } of parties) {
    if (key === merchantParty.key && value === merchantParty.value) return merchantAccount;
    if (key === merchantParty.key && otherMerchant.test(value)) return `${key}@${value}`;
    const msisdn = key === 'msisdn' ? readMsisdn(value) : undefined;
    if (msisdn !== undefined) return subscriberAccount(msisdn);
  }
  return undefined;
}

/** Parses several identifiers in one path segment: `accountid@2999$organisationid@7`. @throws RefusedError */
export function parseAccountId(text: string): readonly Party[] {
  const identifiers = text.split('$').map((part) => /^([a-z]+)@(.+)$/.exec(part));
  return identifiers.map((match) => {
    if (match === null || identifiers.length > 3) {
      throw refusedError(
        'validation',
        'formatError',
        'An account is named as in accountid@2999, at most three parts',
        {
          accountId: text.slice(0, 256) || 'empty',
        },
      );
    }
    return { key: match[1] ?? '', value: match[2] ?? '' };
  });
}
