import type { GetRefundableResponse } from '../../gen/gatehouse/v1/refund_service_pb.js';
import { amountText } from '../../contract/amount-text.ts';
import { amountProblem } from '../payments/amount-problem.ts';
import { placesOf, unitsOf } from '../payments/decimal-text.ts';
import type { RefundWriting } from './refund-writing.ts';

type Refundable = Pick<
  GetRefundableResponse,
  'left' | 'refunded' | 'pending' | 'currency' | 'partial' | 'decimals' | 'approvalAbove'
>;

/** The reason for which an amount cannot be refunded, with advice; undefined for a possible one. Core decides again. */
export function refundAmountProblem(
  text: string,
  { left, refunded, pending, currency, partial, decimals }: Refundable,
  { own, words, language }: Pick<RefundWriting, 'own' | 'words' | 'language'>,
): string | undefined {
  const places = placesOf(left);
  const maxUnits = unitsOf(left, places) ?? 0n;
  const units = unitsOf(text, places);
  if (units === undefined || units === 0n) return amountProblem(text, words.amountProblems);
  const { form } = own;
  if (units > maxUnits) {
    const isRest = [refunded, pending].some((each) => (unitsOf(each, places) ?? 0n) > 0n);
    return (isRest ? form.tooMuchOfRest : form.tooMuch)(amountText(left, currency, language));
  }
  if (!partial && units < maxUnits) return form.onlyWhole(amountText(left, currency, language));
  // The wallet took the rest of the order, so it returns the rest whatever its decimals are.
  const isTooFine = units % 10n ** BigInt(Math.max(places - decimals, 0)) !== 0n;
  if (isTooFine && units < maxUnits) return decimals === 0 ? form.noDecimals : form.fewerDecimals(decimals);
  return undefined;
}

/** Whether the refund waits for a second person. All refunds of the order count together. */
export function isAboveLimit(text: string, { left, refunded, pending, approvalAbove }: Refundable): boolean {
  if (approvalAbove === '') return false;
  const places = placesOf(left);
  const [amount, done, open, limit] = [text, refunded, pending, approvalAbove].map(
    (each) => unitsOf(each, places) ?? 0n,
  );
  return (amount ?? 0n) + (done ?? 0n) + (open ?? 0n) > (limit ?? 0n);
}
