import { PaymentOption } from '../gen/gatehouse/v1/order_pb.js';
import { paymentOptionName } from '../merchant-api/payment-option.ts';
import type { SentForm } from './checkout-pages.ts';
import { messagesIn } from './language/dictionary.ts';
import { durationText } from '../runtime/language/duration-text.ts';
import type { Language } from '../runtime/language/language.ts';
import { withoutSeparators } from './phone-text.ts';
import type { CheckoutFailure } from './rpc-failure.ts';
import { formField } from './submitted-form.ts';

/** What a customer chose on the page to pay. Whether it can be used is for core to say. */
export interface PaymentForm {
  readonly paymentOption: PaymentOption;
  readonly phone: string;
}

const optionsByName: ReadonlyMap<string, PaymentOption> = new Map(
  [PaymentOption.WALLETA_USSD, PaymentOption.WALLETB_USSD, PaymentOption.WALLETA_WALLET].map((option) => [
    paymentOptionName(option),
    option,
  ]),
);

/** The form of a request's body. */
export function readPaymentForm(body: unknown): PaymentForm {
  return {
    paymentOption: optionsByName.get(formField(body, 'payment_option')) ?? PaymentOption.UNSPECIFIED,
    phone: withoutSeparators(formField(body, 'phone')),
  };
}

/** Why the form started nothing, in the words of the page. */
export function refusedForm(form: PaymentForm, failure: CheckoutFailure, language: Language): SentForm {
  const messages = messagesIn(language);
  const sent = { ...form, optionError: undefined, phoneError: undefined };
  switch (failure.kind) {
    case 'phone_busy':
    case 'phone_limit': {
      const { title, body } = failure.kind === 'phone_busy' ? messages.phoneBusy : messages.phoneLimit;
      const wait = durationText(failure.retryAfterSeconds ?? 60, language);
      return { ...sent, alert: { title, body: body(wait) } };
    }
    case 'merchant_closed':
      return { ...sent, alert: messages.merchantClosed };
    default: {
      const { pay } = messages;
      const optionError =
        form.paymentOption === PaymentOption.UNSPECIFIED ? pay.optionMissing : pay.optionUnavailable;
      const phoneError = form.phone === '' ? pay.phoneMissing : pay.phoneInvalid;
      return {
        ...sent,
        alert: { title: messages.correctForm, body: '' },
        optionError: failure.fields.includes('payment_option') ? optionError : undefined,
        phoneError: failure.fields.includes('phone') ? phoneError : undefined,
      };
    }
  }
}

/** The status code of a page that shows the form again. */
export function refusedStatus({ kind }: CheckoutFailure): number {
  switch (kind) {
    case 'phone_busy':
    case 'phone_limit':
      return 429;
    case 'merchant_closed':
      return 403;
    default:
      return 422;
  }
}
