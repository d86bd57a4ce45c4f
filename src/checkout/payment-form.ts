import { typedPhone } from '../contract/typed-phone.ts';
import type { Refusal } from './page-parts.ts';
import type { CheckoutStage } from './checkout-stage.ts';
import { messagesIn } from './language/dictionary.ts';
import { waitText } from '../platform/language/duration-text.ts';
import type { Language } from '../platform/language/language.ts';
import type { Notice } from './language/messages.ts';
import { foreignStart } from './phone-text.ts';
import type { CheckoutFailure, CheckoutFailureKind } from './rpc-failure.ts';
import { formField } from './submitted-form.ts';

/** The customer's input on the page to pay. Core validates it. */
export interface PaymentForm {
  /** As sent; '' when none was chosen. */
  readonly paymentOption: string;
  readonly phone: string;
}

/** Reads the form in a request's body. */
export function readPaymentForm(body: unknown): PaymentForm {
  return {
    paymentOption: formField(body, 'payment_option'),
    phone: typedPhone(formField(body, 'phone')),
  };
}

/** A failure that is shown with the form. Other failures have their own pages, or throw. */
export type FormFailure = CheckoutFailure & {
  readonly kind: Exclude<CheckoutFailureKind, 'unknown_link' | 'unavailable'>;
};

type Wallets = Parameters<typeof foreignStart>[1];

/** The refusal of a number without its country code for a wallet outside of Ethiopia. Core would read it as an Ethiopian number. */
export const missingCountryCode = (
  { paymentOption, phone }: PaymentForm,
  wallets: Wallets,
): FormFailure | undefined =>
  phone.startsWith('+') || foreignStart(paymentOption, wallets) === undefined
    ? undefined
    : {
        kind: 'invalid_fields',
        reason: 'COUNTRY_CODE_MISSING',
        fields: ['phone'],
        retryAfterSeconds: undefined,
        cause: undefined,
      };

/** The refusal as text of the page of this stage. `form` is absent for a cancellation. */
export function refusalOf(
  failure: FormFailure,
  form: PaymentForm | undefined,
  { stage, language, wallets }: { stage: CheckoutStage; language: Language; wallets: Wallets },
): Refusal {
  const messages = messagesIn(language);
  if (form === undefined) {
    if (failure.kind !== 'payment_in_progress' || stage.name === 'pay')
      return { alert: alertOf(failure, language) };
    const { title, body, opened } = messages.tooLateToCancel;
    return { alert: { title, body: stage.name === 'confirm' && stage.opens ? opened : body } };
  }
  // Another tab of the browser has started a payment, with another phone or wallet.
  if (stage.name === 'confirm') {
    const { title, shown } = messages.paymentInProgress;
    return { alert: { title, body: shown } };
  }
  const { pay } = messages;
  const optionError = form.paymentOption === '' ? pay.optionMissing : pay.optionUnavailable;
  const start = foreignStart(form.paymentOption, wallets);
  const invalid = start === undefined ? pay.phoneInvalid : pay.foreignPhoneInvalid(start);
  const phoneError = form.phone === '' ? pay.phoneMissing : invalid;
  return {
    alert: alertOf(failure, language),
    form: {
      ...form,
      optionError: failure.fields.includes('payment_option') ? optionError : undefined,
      phoneError: failure.fields.includes('phone') ? phoneError : undefined,
    },
  };
}

/** The text for a failure. The compiler checks that every kind, and every cause of an unpayable order, has one. */
function alertOf(failure: FormFailure, language: Language): Notice {
  const messages = messagesIn(language);
  const wait = (): string => waitText(failure.retryAfterSeconds ?? 60, language);
  switch (failure.kind) {
    case 'phone_busy':
      return { title: messages.phoneBusy.title, body: messages.phoneBusy.body(wait()) };
    case 'phone_limit':
      return { title: messages.phoneLimit.title, body: messages.phoneLimit.body(wait()) };
    case 'merchant_closed':
      return messages.merchantClosed;
    case 'not_payable':
      return messages.notPayable[failure.cause ?? 'other'];
    case 'payment_in_progress':
      return messages.paymentInProgress;
    case 'in_use':
      return messages.inUse;
    case 'invalid_fields':
      return { title: messages.correctForm, body: '' };
  }
}

const statuses: Readonly<Record<FormFailure['kind'], number>> = {
  phone_busy: 429,
  phone_limit: 429,
  merchant_closed: 403,
  not_payable: 409,
  payment_in_progress: 409,
  in_use: 409,
  invalid_fields: 422,
};

/** The status code of a page that shows the form again. */
export const refusedStatus = ({ kind }: FormFailure): number => statuses[kind];
