import type { NotPayableCause } from '../../contract/not-payable.ts';
import type { PaymentOption } from '../../gen/gatehouse/v1/order_pb.js';

/** A payment option that can be chosen. */
export type ChosenOption = Exclude<PaymentOption, PaymentOption.UNSPECIFIED>;

/** Why a payment did not happen, as far as a customer can do something about it. */
export type RefusalCause =
  | 'insufficient_funds'
  | 'wrong_pin'
  | 'declined_by_payer'
  | 'payer_not_found'
  | 'limit_exceeded'
  | 'account_state'
  | 'payer_busy'
  | 'wrong_amount'
  | 'timed_out'
  | 'other';

/** A heading and what it means for the customer. */
export interface Notice {
  readonly title: string;
  readonly body: string;
}

/** Every text of the pages. Amounts, names, times and numbers come in as texts of the same language. */
export interface Messages {
  /** The language's own name, for the switch. */
  readonly languageName: string;
  readonly switchLabel: string;
  readonly poweredBy: string;
  readonly testPayment: string;
  readonly byMerchant: (merchant: string) => string;
  readonly labels: {
    readonly amount: string;
    readonly payee: string;
    readonly reason: string;
    readonly reference: string;
    readonly timeLeft: string;
    readonly wallet: string;
    readonly phone: string;
    readonly paidAt: string;
    readonly walletReference: string;
  };
  readonly pay: {
    readonly title: (amount: string, shop: string) => string;
    readonly chooseWallet: string;
    readonly phoneHint: string;
    readonly submit: (amount: string) => string;
    /** On the button while the request is on its way. */
    readonly submitting: string;
    readonly attemptsLeft: (count: number) => string;
    readonly phoneMissing: string;
    readonly phoneInvalid: string;
    readonly optionMissing: string;
    readonly optionUnavailable: string;
  };
  readonly cancel: { readonly open: string; readonly body: string; readonly confirm: string };
  readonly otherDevice: { readonly open: string; readonly body: string; readonly alt: string };
  readonly options: Readonly<Record<ChosenOption, { readonly name: string; readonly hint: string }>>;
  /** The wallet as it stands within a sentence. */
  readonly wallets: Readonly<Record<ChosenOption, string>>;
  readonly confirm: {
    readonly title: string;
    readonly sentTo: (phone: string) => string;
    readonly how: Readonly<Record<ChosenOption, (amount: string) => string>>;
    /** How long the customer has, and what the page does then. */
    readonly next: string;
    readonly wayOut: {
      readonly open: string;
      /** While no wallet has been asked; above the button to cancel. */
      readonly unsent: string;
      readonly sent: (phone: string) => string;
      readonly slow: (wallet: string) => string;
    };
    readonly following: string;
    readonly slow: (wallet: string) => string;
    readonly offline: string;
    readonly stopLooking: string;
  };
  readonly paid: { readonly title: string; readonly body: (amount: string, shop: string) => string };
  readonly failed: Notice;
  readonly cancelled: Notice;
  readonly expired: Notice;
  readonly inUse: Notice;
  readonly unknownLink: Notice;
  readonly unavailable: Notice;
  readonly tooManyRequests: Notice;
  readonly tooManyPayments: Notice;
  readonly foreignForm: Notice;
  readonly badRequest: Notice;
  readonly checkAgain: string;
  readonly print: string;
  /** Before the merchant's telephone number and e-mail address. */
  readonly contact: (shop: string) => string;
  readonly toPayment: string;
  readonly backTo: (shop: string) => string;
  /** `seconds` is the number alone, because the script counts it down; what stands before and after it. */
  readonly returning: { readonly before: string; readonly after: string };
  readonly stay: string;
  readonly closePage: string;
  /** Above the form, when another try is possible. */
  readonly refused: { readonly title: string; readonly why: Readonly<Record<RefusalCause, string>> };
  /** A payment waits for its confirmation on the phone. */
  readonly phoneBusy: { readonly title: string; readonly body: (wait: string) => string };
  /** The phone has had all the prompts it is to have for now. */
  readonly phoneLimit: { readonly title: string; readonly body: (wait: string) => string };
  readonly merchantClosed: Notice;
  readonly paymentInProgress: Notice;
  readonly tooLateToCancel: Notice;
  /** Why the order takes no payment, although the page still has its form. */
  readonly notPayable: Readonly<Record<NotPayableCause | 'other', Notice>>;
  /** A wallet took money that does not pay the order. `refused`: it has not given it back by itself. */
  readonly notReturned: {
    readonly title: string;
    readonly returning: (taken: string) => string;
    readonly refused: (taken: string, shop: string) => string;
    /** On the page of an order that ended meanwhile. */
    readonly ended: {
      readonly returning: (taken: string) => string;
      readonly refused: (taken: string, shop: string) => string;
    };
  };
  readonly correctForm: string;
}
