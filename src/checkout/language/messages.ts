import type { NotPayableCause } from '../../contract/not-payable.ts';
import type { Channel } from '../../contract/payment-option.ts';

/** The causes of a failed payment that a customer can resolve. */
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

/** A heading, and its meaning for the customer. */
export interface Notice {
  readonly title: string;
  readonly body: string;
}

/** A notice that says how long to wait. */
export interface TimedNotice {
  readonly title: string;
  readonly body: (wait: string) => string;
}

/** Every text of the pages. Amounts, names, times and numbers are passed as texts of the same language. */
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
    readonly refunded: string;
  };
  readonly pay: {
    readonly title: (amount: string, shop: string) => string;
    readonly chooseWallet: string;
    readonly phoneHint: string;
    /** `start` is how a number begins, such as `+2547…`. */
    readonly foreignPhoneHint: (start: string) => string;
    readonly submit: (amount: string) => string;
    /** The label of the button while the request is sent. */
    readonly submitting: string;
    /** Instead of sending the form without a network. */
    readonly offline: string;
    readonly attemptsLeft: (count: number) => string;
    readonly phoneMissing: string;
    readonly phoneInvalid: string;
    readonly foreignPhoneInvalid: (start: string) => string;
    readonly optionMissing: string;
    readonly optionUnavailable: string;
    /** Instead of the form, when no wallet takes the order's money. */
    readonly noOption: string;
  };
  /** How to pay from the menu of the phone. */
  readonly paybill: {
    readonly open: (wallet: string) => string;
    readonly body: (wallet: string) => string;
    readonly number: string;
    readonly account: string;
    readonly after: string;
  };
  readonly cancel: { readonly open: string; readonly body: string; readonly confirm: string };
  readonly otherDevice: { readonly open: string; readonly body: string; readonly alt: string };
  /** A payment option. `name` tells the channels of one wallet apart. */
  readonly options: Readonly<
    Record<Channel, { readonly name: (wallet: string) => string; readonly hint: (wallet: string) => string }>
  >;
  readonly confirm: {
    readonly title: string;
    /** True before and after the request is sent, because the page does not change then. */
    readonly waitOn: (phone: string) => string;
    readonly how: Readonly<Record<Channel, (amount: string, wallet: string) => string>>;
    /** When the payer must open a page of the wallet. */
    readonly open: {
      readonly title: (wallet: string) => string;
      /** Instead of `how`, until the wallet has answered with its page. */
      readonly soon: (wallet: string) => string;
      readonly how: (amount: string, wallet: string) => string;
      readonly button: (wallet: string) => string;
      readonly scan: (wallet: string) => string;
      readonly codeAlt: (wallet: string) => string;
    };
    /** The time that the customer has, and what the page does afterwards. */
    readonly next: string;
    readonly wayOut: {
      readonly open: string;
      /** Before the request is sent to a wallet; above the button to cancel. */
      readonly unsent: string;
      readonly sent: (phone: string) => string;
      /** Instead of `sent`, when the payer must open a page of the wallet. */
      readonly opened: (wallet: string) => string;
      readonly slow: (wallet: string) => string;
    };
    readonly following: string;
    readonly slow: (wallet: string) => string;
    /** Instead of the steps, while the request cannot be sent. */
    readonly unsent: (wallet: string) => string;
    readonly offline: string;
    readonly stopLooking: string;
  };
  readonly paid: {
    readonly title: string;
    readonly body: (amount: string, shop: string) => string;
    /** For a browser that did not pay: the link was passed on, or the payment began elsewhere. */
    readonly bodyElsewhere: (amount: string, shop: string) => string;
  };
  readonly failed: Notice;
  readonly cancelled: Notice;
  readonly expired: Notice;
  /** The page while a payment from the menu of the phone is being confirmed. Its body is also that of an order that is not expired yet. */
  readonly checking: Notice;
  readonly inUse: Notice;
  readonly unknownLink: Notice;
  readonly unavailable: Notice;
  readonly tooManyRequests: Notice;
  /** Above the limit of the payment's page. It stays the same on another network. */
  readonly tooManyPayments: TimedNotice;
  /** Above the limit of the customer's network. */
  readonly tooManyPaymentsOfNetwork: TimedNotice;
  readonly foreignForm: Notice;
  readonly badRequest: Notice;
  readonly checkAgain: string;
  readonly print: string;
  /** Before the merchant's telephone number and e-mail address. */
  readonly contact: (shop: string) => string;
  readonly toPayment: string;
  readonly backTo: (shop: string) => string;
  /** The text before and after the number of seconds. The number is separate because the script counts it down. */
  readonly returning: { readonly before: string; readonly after: string };
  readonly stay: string;
  readonly closePage: string;
  /** Above the form, when another try is possible. */
  readonly refused: { readonly title: string; readonly why: Readonly<Record<RefusalCause, string>> };
  /** A payment waits for its confirmation on the phone. */
  readonly phoneBusy: TimedNotice;
  /** The phone has reached its limit of prompts for now. */
  readonly phoneLimit: TimedNotice;
  readonly merchantClosed: Notice;
  /** `shown`: the body on the page of that payment. */
  readonly paymentInProgress: Notice & { readonly shown: string };
  /** `opened`: the body when the payer must open a page of the wallet. */
  readonly tooLateToCancel: Notice & { readonly opened: string };
  /** Why the order accepts no payment, although the page still shows its form. */
  readonly notPayable: Readonly<Record<NotPayableCause | 'other', Notice>>;
  /** A wallet debited money that does not pay the order. `refused`: the wallet refused to return it. */
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
  /** The title of a page that refuses a form. */
  readonly wrongTitle: (title: string) => string;
}
