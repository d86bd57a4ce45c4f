import { rpcError } from '../../../contract/error-reason.ts';
import { notPayable } from '../../../contract/not-payable.ts';
import { invalidFields } from '../../../platform/rpc/rpc-error.ts';
import { recovering } from '../../database/payment-gate.ts';
import type { RejectionOf } from '../../domain/transition.ts';
import type { PhoneRefusal } from '../phones/phone-limit.ts';

/** Why a cancellation of a checkout is refused. */
export type CancelRefusal = RejectionOf<'cancel'> | 'in_use' | 'may_be_paid' | 'payer_pays';
/** Why a payment of a checkout is refused. */
export type PaymentRefusal =
  | RejectionOf<'start_payment'>
  | 'in_use'
  | 'not_offered'
  | 'may_be_paid'
  | 'payer_pays'
  | { readonly type: 'phone_refused'; readonly answer: PhoneRefusal };

export const notFound = () =>
  rpcError('CHECKOUT_NOT_FOUND', 'this checkout link is not valid; ask the shop for a new one');

export const notOffered = () =>
  invalidFields([
    {
      field: 'payment_option',
      issue: 'is not an option that this merchant offers; choose one of those on the page',
    },
  ]);

/** The error of a refusal, for the caller of the RPC. `phoneRefusal` makes the error for a phone that may not be prompted now. */
export function checkoutRefusal(
  rejection: PaymentRefusal | CancelRefusal | 'not_found',
  phoneRefusal: (answer: PhoneRefusal) => Error,
): Error {
  if (rejection === 'may_be_paid') return recovering();
  if (rejection === 'payer_pays')
    return rpcError('PAYMENT_IN_PROGRESS', 'a payment from the menu of the phone is being confirmed');
  if (rejection === 'not_found') return notFound();
  if (rejection === 'not_offered') return notOffered();
  if (rejection === 'in_use')
    return rpcError('CHECKOUT_IN_USE', 'this checkout is in use in another browser; continue there');
  switch (rejection.type) {
    case 'phone_refused':
      return phoneRefusal(rejection.answer);
    case 'payment_in_progress':
      return rpcError('PAYMENT_IN_PROGRESS', 'a payment is under way; wait for its outcome');
    case 'money_not_returned':
      return rpcError(
        'MONEY_NOT_RETURNED',
        'an earlier payment took money that has not been returned; pay again after it is returned',
      );
    case 'order_is_final':
      return notPayable(rejection.type, `the order is ${rejection.status}`);
    case 'session_ended':
      return notPayable(rejection.type, 'the payment session has expired');
    case 'too_many_attempts':
      return notPayable(rejection.type, `the order has used all of its ${rejection.limit} payment attempts`);
    case 'option_not_allowed':
      return notPayable(rejection.type, 'the order cannot be paid this way');
  }
}
