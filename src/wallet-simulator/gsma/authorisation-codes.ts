import { findAccount } from './accounts.ts';
import type { Party } from './accounts.ts';
import { isCurrency, parseAmount } from '../amount.ts';
import { refusedError } from './refusal.ts';
import { requireTwoAccounts } from './request-checks.ts';
import type { AuthorisationCodeBody } from './schemas.ts';

/** A payer's advance approval, which is used by presenting the code. */
export interface AuthorisationCode {
  readonly code: string;
  /** The payer's account in the ledger. */
  readonly account: string;
  readonly terms: AuthorisationCodeBody;
  readonly createdAt: Date;
  readonly expiresAt: Date;
  modifiedAt: Date;
  /** Set once the code is used or cancelled. Its expiry is checked separately. */
  ended: 'redeemed' | 'cancelled' | undefined;
}

/** The payment for which a code is used. */
export interface Redemption {
  readonly amount: bigint;
  readonly currency: string;
  readonly debitParty?: readonly Party[] | undefined;
  readonly creditParty: readonly Party[];
}

export interface AuthorisationCodes {
  /** Creates a code. @throws RefusedError when an amount has no currency, or an unknown one. */
  readonly issue: (account: string, terms: AuthorisationCodeBody) => AuthorisationCode;
  /** @throws RefusedError identification when the account has no such code. */
  readonly find: (account: string, code: string) => AuthorisationCode;
  /** Newest first. */
  readonly ofAccount: (account: string) => readonly AuthorisationCode[];
  /** @throws RefusedError when the code is no longer active. */
  readonly cancel: (code: AuthorisationCode) => void;
  /** Uses the code and returns the account to charge. @throws RefusedError when its terms do not allow the payment. */
  readonly redeem: (code: string, redemption: Redemption) => string;
  readonly stateOf: (code: AuthorisationCode) => 'active' | 'expired' | 'cancelled';
}

/** The lifetime of a code whose terms give none. */
const standardLifetimeSeconds = 600;

interface CodeOptions {
  readonly now: () => Date;
  readonly randomBytes: (count: number) => Buffer;
}

export function createAuthorisationCodes({ now, randomBytes }: CodeOptions): AuthorisationCodes {
  const codes = new Map<string, AuthorisationCode>();
  const stateOf = (code: AuthorisationCode): 'active' | 'expired' | 'cancelled' => {
    if (code.ended === 'cancelled') return 'cancelled';
    return code.ended === 'redeemed' || now() >= code.expiresAt ? 'expired' : 'active';
  };
  const requireActive = (code: AuthorisationCode): void => {
    if (stateOf(code) === 'active') return;
    throw refusedError('businessRule', 'incorrectState', 'The authorisation code is not active', {
      codeState: stateOf(code),
    });
  };
  const end = (code: AuthorisationCode, how: 'redeemed' | 'cancelled'): void => {
    code.ended = how;
    code.modifiedAt = now();
  };
  const unusedCode = (): string => {
    for (;;) {
      const code = String(randomBytes(4).readUInt32BE() % 100_000_000).padStart(8, '0');
      if (!codes.has(code)) return code;
    }
  };
  return {
    stateOf,
    issue: (account, terms) => {
      requireAmountWithCurrency(terms);
      const createdAt = now();
      const lifetimeMs = (terms.codeLifetime ?? standardLifetimeSeconds) * 1_000;
      const code: AuthorisationCode = {
        code: unusedCode(),
        account,
        terms,
        createdAt,
        expiresAt: new Date(createdAt.getTime() + lifetimeMs),
        modifiedAt: createdAt,
        ended: undefined,
      };
      codes.set(code.code, code);
      return code;
    },
    find: (account, code) => {
      const found = codes.get(code);
      if (found?.account === account) return found;
      throw unknownCode(code);
    },
    ofAccount: (account) => [...codes.values()].filter((code) => code.account === account).reverse(),
    cancel: (code) => {
      requireActive(code);
      end(code, 'cancelled');
    },
    redeem: (text, redemption) => {
      const code = codes.get(text);
      if (code === undefined) throw unknownCode(text);
      requireActive(code);
      requireTerms(code, redemption);
      end(code, 'redeemed');
      return code.account;
    },
  };
}

const unknownCode = (code: string) =>
  refusedError('identification', 'identifierError', 'There is no such authorisation code', {
    authorisationCode: code.slice(0, 256),
  });

function requireAmountWithCurrency({ amount, currency }: AuthorisationCodeBody): void {
  if (currency !== undefined && !isCurrency(currency)) {
    throw refusedError('validation', 'currencyNotSupported', 'This wallet has no such currency', {
      currency,
    });
  }
  if (amount !== undefined && currency === undefined) {
    throw refusedError('validation', 'mandatoryValueNotSupplied', 'An amount needs a currency', {
      currency: 'is required with amount',
    });
  }
}

function requireTerms({ account, terms }: AuthorisationCode, redemption: Redemption): void {
  const { amount, currency, debitParty, creditParty } = redemption;
  if (debitParty !== undefined && findAccount(debitParty, 'debitParty') !== account) {
    throw refusedError('identification', 'identifierError', 'The code is of another account', {
      debitParty: 'msisdn',
    });
  }
  requireTwoAccounts(account, findAccount(creditParty, 'creditParty'));
  if (terms.currency !== undefined && terms.currency !== currency) {
    throw refusedError('validation', 'currencyNotSupported', 'The code is for another currency', {
      currency: terms.currency,
    });
  }
  if (terms.amount !== undefined) requireAmount(parseAmount(terms.amount), terms, amount);
  const types = terms.redemptionTransactionTypes;
  if (types !== undefined && !types.some(({ transactionType }) => transactionType === 'merchantpay')) {
    throw refusedError('businessRule', 'transactionTypeError', 'The code is not for merchant payments');
  }
  const payees = terms.redemptionAccountIdentifiers;
  const isPayee = ({ key, value }: Party): boolean =>
    creditParty.some((party) => party.key === key && party.value === value);
  if (payees !== undefined && !payees.some(isPayee)) {
    throw refusedError('identification', 'identifierError', 'The code is for another payee', {
      creditParty: 'accountid',
    });
  }
}

function requireAmount(agreed: bigint, { amountType }: AuthorisationCodeBody, amount: bigint): void {
  if (amount > agreed)
    throw refusedError('businessRule', 'overPaymentNotAllowed', 'The code is for less than that');
  if (amount < agreed && amountType !== 'maximum') {
    throw refusedError('businessRule', 'underPaymentNotAllowed', 'The code is for more than that');
  }
}

/** The contract's authorisation code. */
export function authorisationCodeObject(code: AuthorisationCode, codeState: string): object {
  return {
    ...code.terms,
    authorisationCode: code.code,
    codeState,
    creationDate: code.createdAt.toISOString(),
    modificationDate: code.modifiedAt.toISOString(),
  };
}
