/** What the templates are given, one shape a template. Texts are finished: a template decides nothing but where they go. */
export type PageView = PayView | ConfirmView | OutcomeView;

interface AnyPage {
  readonly title: string;
  /** Whether to say that no real money moves. */
  readonly testPayment: boolean;
  /** For browsers without scripts: when to load another address (this one when none is given). */
  readonly refresh?: { readonly seconds: number; readonly url?: string } | undefined;
}

export interface ShopView {
  readonly name: string;
  /** The merchant behind a business of another name. */
  readonly byMerchant: string | undefined;
  /** Stands for a logo. */
  readonly initial: string;
}

export interface Fact {
  readonly label: string;
  readonly text: string;
}

/** How to reach the merchant: by telephone, by e-mail, or both. */
export interface ContactView {
  readonly intro: string;
  readonly ways: readonly { readonly href: string; readonly text: string }[];
}

export interface PayView extends AnyPage {
  readonly template: 'pay';
  /** The page's own address. */
  readonly self: string;
  readonly qrCode: string;
  readonly shop: ShopView;
  readonly amount: string;
  readonly reason: string;
  readonly orderNumber: string;
  readonly secondsLeft: number;
  readonly timeLeft: string;
  readonly alert: { readonly title: string; readonly body: string } | undefined;
  readonly attemptsLeft: string;
  readonly options: readonly {
    readonly value: string;
    readonly name: string;
    readonly hint: string;
    readonly checked: boolean;
  }[];
  readonly optionError: string | undefined;
  readonly phone: string;
  readonly phoneError: string | undefined;
  readonly submit: string;
  readonly contact: ContactView | undefined;
}

export interface ConfirmView extends AnyPage {
  readonly template: 'confirm';
  readonly self: string;
  /** Another one as soon as the page should show something else. */
  readonly version: string;
  readonly shop: ShopView;
  readonly heading: string;
  /** Given when the customer asked to cancel and could not. */
  readonly alert: { readonly title: string; readonly body: string } | undefined;
  /** What happens next, in order. */
  readonly steps: readonly string[];
  readonly slow: string | undefined;
  readonly facts: readonly Fact[];
  /** Whether no wallet has been asked yet; the script follows it. */
  readonly isCancellable: boolean;
  /** What the customer can do once the wallet has been asked. */
  readonly cannotCancel: string;
  readonly contact: ContactView | undefined;
  readonly back: OutcomeView['back'];
}

export interface OutcomeView extends AnyPage {
  readonly template: 'outcome';
  readonly tone: 'good' | 'bad' | 'neutral';
  readonly heading: string;
  readonly lead: string;
  readonly facts: readonly Fact[];
  readonly self: string;
  readonly shop?: ShopView;
  /** Whether the page is worth printing. */
  readonly isReceipt?: boolean;
  readonly contact?: ContactView | undefined;
  /** Given when the page is followed, as on the page to confirm. */
  readonly version?: string;
  readonly again?: { readonly href: string; readonly text: string };
  readonly back?: { readonly href: string; readonly text: string } | undefined;
  /** After how many seconds to go back without being asked. */
  readonly returnSeconds?: number | undefined;
  /** Nothing more will happen here. */
  readonly final: boolean;
}
