import { invalidFields } from '../../../platform/rpc/rpc-error.ts';
import type { Issue } from '../../domain/issue.ts';
import type { AgreedTerms } from '../../domain/merchant-terms.ts';
import { amountIssues, currencyIssues, optionIssues, payableIssues } from '../../domain/merchant-terms.ts';
import type { Result } from '../../domain/result.ts';
import type { Wallet } from '../../domain/wallet.ts';
import type { FindMerchant } from '../../merchants/find-merchant.ts';
import type { AskedOfTerms } from './order-requests.ts';

export type CheckRequest = (parsed: Result<unknown, readonly Issue[]>, asked: AskedOfTerms) => Promise<void>;

/**
 * Returns all errors of a request at once: invalid fields, and violations of the merchant's terms by the valid ones. It
 * does not check whether the merchant exists or may use the environment, because field errors come first. Errors:
 * INVALID_FIELDS.
 */
export function createCheckRequest(findMerchant: FindMerchant, wallets: readonly Wallet[]): CheckRequest {
  return async (parsed, asked) => {
    const unreadable = parsed.ok ? [] : parsed.error;
    const terms = asked.merchantId === undefined ? undefined : await findMerchant(asked.merchantId);
    const unreadableFields = new Set(unreadable.map(({ field }) => field));
    // The wallets of an option that is not offered say nothing of the amount.
    const { paymentOption, ...others } = asked;
    const checked = {
      ...others,
      paymentOption: unreadableFields.has('payment_option') ? undefined : paymentOption,
    };
    const left = terms === undefined ? [] : issuesByTerms(terms, checked, wallets);
    const issues = [...unreadable, ...left.filter(({ field }) => !unreadableFields.has(field))];
    if (issues.length > 0) throw invalidFields(issues);
  };
}

function issuesByTerms(terms: AgreedTerms, asked: AskedOfTerms, wallets: readonly Wallet[]): Issue[] {
  const { environment, currency, amount, paymentOption } = asked;
  return [
    ...(environment === undefined || paymentOption === undefined
      ? []
      : optionIssues(terms, environment, paymentOption)),
    ...(amount !== undefined
      ? environment === undefined
        ? amountIssues(terms, amount)
        : payableIssues(terms, environment, amount, wallets, paymentOption)
      : currency !== undefined
        ? currencyIssues(terms, currency)
        : []),
  ];
}
