/** The data of the templates, one type per template. Texts are complete: a template decides only their position. */
export type PageView = PayView | ConfirmView | OutcomeView;

interface AnyPage {
  readonly title: string;
  /** Whether a form was refused. The title then says so. */
  readonly hasMistake?: boolean;
  /** Whether to say that no real money moves. */
  readonly testPayment: boolean;
  /** For browsers without scripts: when to load which address. */
  readonly refresh?: { readonly seconds: number; readonly url: string } | undefined;
}

export interface ShopView {
  readonly name: string;
  /** The merchant's name, if the business has another name. */
  readonly byMerchant: string | undefined;
  /** The letter that is shown instead of a logo. */
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
    /** The address of the wallet's logo; undefined without one. */
    readonly logo: string | undefined;
    readonly checked: boolean;
  }[];
  /** Instead of the form, when there is no option. */
  readonly noOption: string;
  readonly optionError: string | undefined;
  readonly phone: string;
  readonly phoneHint: string;
  readonly phoneError: string | undefined;
  readonly submit: string;
  /** How to pay from the menu of the phone, by wallet. */
  readonly paybills: readonly {
    readonly open: string;
    readonly body: string;
    readonly facts: readonly Fact[];
    readonly after: string;
    readonly again: { readonly href: string; readonly text: string };
  }[];
  readonly contact: ContactView | undefined;
}

export interface ConfirmView extends AnyPage {
  readonly template: 'confirm';
  readonly self: string;
  /** Changes when the page must show something else. */
  readonly version: string;
  readonly shop: ShopView;
  readonly heading: string;
  /** Set when a cancellation was refused. */
  readonly alert: { readonly title: string; readonly body: string } | undefined;
  /** The page or app that the payer must open, when the wallet does not prompt the phone. */
  readonly opens:
    | {
        /** The script opens it once for an attempt. */
        readonly link?: { readonly href: string; readonly text: string; readonly attemptId: string };
        readonly code?: { readonly src: string; readonly alt: string };
      }
    | undefined;
  /** The next steps, in order. */
  readonly steps: readonly string[];
  readonly slow: string | undefined;
  readonly facts: readonly Fact[];
  /** Whether no request was sent to a wallet yet. The script updates it. */
  readonly isCancellable: boolean;
  /** The customer's options after the request was sent to the wallet. */
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
  /** Set when the page refreshes by itself, like the page to confirm. */
  readonly version?: string;
  readonly again?: { readonly href: string; readonly text: string };
  readonly back?: { readonly href: string; readonly text: string } | undefined;
  /** The seconds after which the page returns to the shop by itself. */
  readonly returnSeconds?: number | undefined;
  /** Whether the page will not change again. */
  readonly final: boolean;
}
