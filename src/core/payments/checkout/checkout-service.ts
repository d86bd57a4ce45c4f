import { create } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import {
  CheckoutSchema,
  CheckoutService,
  MoneyNotReturnedSchema,
} from '../../../gen/gatehouse/v1/checkout_service_pb.js';
import type { Checkout as CheckoutMessage } from '../../../gen/gatehouse/v1/checkout_service_pb.js';
import { annotate, callerOf } from '../../../platform/rpc/call-context.ts';
import { NextActionSchema } from '../../../gen/gatehouse/v1/payment_attempt_service_pb.js';
import type { NextAction as NextActionMessage } from '../../../gen/gatehouse/v1/payment_attempt_service_pb.js';
import { rpcService } from '../../../contract/rpc-service.ts';
import type { RpcService } from '../../../platform/rpc/rpc-service.ts';
import { combine } from '../../domain/combine.ts';
import type { NextAction } from '../../domain/next-action.ts';
import type { Issue } from '../../domain/issue.ts';
import type { PaymentOption } from '../../domain/order.ts';
import { PhoneNumber } from '../../domain/phone-number.ts';
import { err, ok } from '../../domain/result.ts';
import type { Result } from '../../domain/result.ts';
import { attemptMessage, orderMessage, paymentOptionOf } from '../../rpc/order-messages.ts';
import { valuesOrThrow } from '../../rpc/request-fields.ts';
import type { Checkout, CheckoutOffer } from './checkout-contents.ts';
import type { Checkouts } from './checkouts.ts';

/** gatehouse.v1.CheckoutService. */
export function checkoutService(checkouts: Checkouts, now: () => Date): RpcService {
  const answer = (checkout: Checkout) => ({ checkout: checkoutMessage(checkout, now()) });
  return rpcService(
    CheckoutService,
    {
      async getCheckout({ token, browserSecret, statusOnly }, context) {
        const { signal } = context;
        const checkout = await checkouts.get(token, browserSecret, { statusOnly, signal });
        annotate(context, { order_id: checkout.order.id });
        return answer(checkout);
      },
      async submitCheckoutPayment(request, context) {
        const { token, browserSecret, paymentOption, phone } = request;
        const values = valuesOrThrow(
          combine({
            browserSecret: parseBrowserSecret(browserSecret),
            customerNetwork: parseNetwork(request.customerNetwork),
            paymentOption: parseOption(paymentOption),
            phone: PhoneNumber.parse(phone, 'phone'),
          }),
        );
        const { requestId } = callerOf(context);
        const scope = { requestId, signal: context.signal };
        const checkout = await checkouts.pay(token, values.browserSecret, values, scope);
        annotate(context, {
          order_id: checkout.order.id,
          payment_attempt_id: checkout.order.latestAttempt?.id,
        });
        return answer(checkout);
      },
      async cancelCheckout({ token, browserSecret }, context) {
        const checkout = await checkouts.cancel(token, browserSecret, callerOf(context).requestId);
        annotate(context, { order_id: checkout.order.id });
        return answer(checkout);
      },
    },
    { getCheckout: ['checkout'], submitCheckoutPayment: ['checkout'], cancelCheckout: ['checkout'] },
  );
}

/** 32 random bytes in base64url. */
function parseBrowserSecret(secret: string): Result<string, Issue> {
  if (!/^[A-Za-z0-9_-]{43}$/.test(secret)) {
    return err({ field: 'browser_secret', issue: 'must be 32 random bytes in base64url' });
  }
  return ok(secret);
}

/** The customer's network, as the checkout process derived it from the address. */
function parseNetwork(network: string): Result<string, Issue> {
  if (!/^[0-9a-f.:]{0,64}$/.test(network))
    return err({ field: 'customer_network', issue: 'must be an IP address or the beginning of one' });
  return ok(network);
}

function parseOption(text: string): Result<PaymentOption, Issue> {
  const option = paymentOptionOf(text);
  return option === undefined
    ? err({ field: 'payment_option', issue: 'must be one of the options offered' })
    : ok(option);
}

function checkoutMessage(
  {
    order,
    offer,
    attemptsLeft,
    lastAttemptCancelled,
    opensPage,
    usableHere,
    boundHere,
    providerTransactionId,
    nextAction,
    moneyNotReturned: held,
  }: Checkout,
  readAt: Date,
): CheckoutMessage {
  const message = create(CheckoutSchema, {
    order: orderMessage(order),
    ...(offer === undefined ? {} : offerFields(offer)),
    attemptsLeft,
    lastAttemptCancelled,
    opensPage,
    usableHere,
    boundHere,
    providerTransactionId,
    readTime: timestampFromDate(readAt),
  });
  if (nextAction !== undefined) message.nextAction = nextActionMessage(nextAction);
  if (held !== undefined) {
    const { amount, currency, status } = held;
    const reversalRefused = status === 'REVERSAL_REFUSED';
    message.moneyNotReturned = create(MoneyNotReturnedSchema, { amount, currency, reversalRefused });
  }
  if (order.latestAttempt !== null) message.latestAttempt = attemptMessage(order, order.latestAttempt);
  return message;
}

const offerFields = ({ merchant: { name, contact }, paymentOptions, paybills }: CheckoutOffer) => ({
  merchantName: name,
  paymentOptions: [...paymentOptions],
  paybills: [...paybills],
  ...(contact.phone === '' && contact.email === '' ? {} : { merchantContact: contact }),
});

function nextActionMessage(action: NextAction): NextActionMessage {
  switch (action.kind) {
    case 'redirect':
      return create(NextActionSchema, { action: { case: 'redirectUrl', value: action.url } });
    case 'qr':
      return create(NextActionSchema, { action: { case: 'qrPayload', value: action.payload } });
    case 'instructions':
      return create(NextActionSchema, { action: { case: 'instructions', value: action.text } });
  }
}
