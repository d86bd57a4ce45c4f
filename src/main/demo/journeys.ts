/** One payment of the demo. */
export interface Journey {
  readonly title: string;
  readonly amount: string;
  readonly currency: string;
  /** The payer's phones with their payment options. The first phone that may be prompted is used. */
  readonly payers: readonly { readonly phone: string; readonly option: string }[];
  /** Whether the customer pays on the wallet's page, from the hosted checkout. */
  readonly isHosted?: boolean;
  /** Whether the order has a webhook_url, so that the shop gets a webhook. */
  readonly hasWebhook: boolean;
  /** Whether the payment becomes a stray payment, which must be reversed. */
  readonly isStray: boolean;
  /** The amount that the shop refunds when the order is paid. */
  readonly refund?: string;
}

/** Simulated phone numbers with a fixed outcome: docs/operating/wallet-simulator.md. */
const endingIn = (outcome: string): Journey['payers'] => [
  { phone: `+2519000000${outcome}`, option: 'walleta_ussd' },
  { phone: `+2517000000${outcome}`, option: 'walletb_ussd' },
];

export const journeys: readonly Journey[] = [
  {
    title: 'A customer pays, and the shop gets a webhook',
    amount: '150.00',
    currency: 'ETB',
    payers: endingIn('00'),
    hasWebhook: true,
    isStray: false,
  },
  {
    title: 'A customer has insufficient funds',
    amount: '2500.00',
    currency: 'ETB',
    payers: endingIn('01'),
    hasWebhook: false,
    isStray: false,
  },
  {
    title: 'A wallet debits the wrong amount: the order is not paid, and the money is reversed',
    amount: '99.50',
    currency: 'ETB',
    payers: endingIn('19'),
    hasWebhook: false,
    isStray: true,
  },
];

/** A part refund, a refused refund, and a refund whose answer is lost. */
export const refundJourneys: readonly Journey[] = [
  {
    title: 'The shop refunds a part, and gets a webhook',
    amount: '150.00',
    currency: 'ETB',
    payers: endingIn('00'),
    hasWebhook: true,
    isStray: false,
    refund: '40.00',
  },
  {
    title: 'The wallet refuses the refund: it is FAILED, and the shop can refund again',
    amount: '80.00',
    currency: 'ETB',
    payers: endingIn('22'),
    hasWebhook: false,
    isStray: false,
    refund: '80.00',
  },
  {
    title: 'The wallet’s answer to the refund is lost, and the money is still returned once',
    amount: '60.00',
    currency: 'ETB',
    payers: endingIn('23'),
    hasWebhook: false,
    isStray: false,
    refund: '60.00',
  },
];

/** The wallets that the demo can play, with the phones of their simulators. `NN` selects the outcome. */
const wallets = {
  walleta: { option: 'walleta_ussd', phone: '+2519000000', currency: 'ETB' },
  walletb: { option: 'walletb_ussd', phone: '+2517000000', currency: 'ETB' },
  telebirr: { option: 'telebirr_wallet', phone: '+2519100000', currency: 'ETB' },
  mpesa: { option: 'mpesa_ussd', phone: '+2547000000', currency: 'KES' },
  mpesaet: { option: 'mpesaet_ussd', phone: '+2517000000', currency: 'ETB' },
  mtn: { option: 'mtn_ussd', phone: '+2567700000', currency: 'EUR' },
} as const;

export const demoWalletIds = Object.keys(wallets);

/** A payment, a refusal and a lost answer with one wallet; undefined for a wallet that the demo does not know. */
export function journeysWith(wallet: string): readonly Journey[] | undefined {
  if (!Object.hasOwn(wallets, wallet)) return undefined;
  const { option, phone, currency } = wallets[wallet as keyof typeof wallets];
  const isHosted = option.endsWith('_wallet');
  const journey = (title: string, amount: string, outcome: string): Journey => ({
    title,
    amount,
    currency,
    payers: [{ phone: `${phone}${outcome}`, option }],
    isHosted,
    hasWebhook: false,
    isStray: false,
  });
  return [
    journey('A customer pays', '150', '00'),
    journey('A customer has insufficient funds', '2500', '01'),
    // The simulated telebirr learns the payer's number after its answer to the request. It loses the notification instead.
    journey('The wallet’s answer is lost, and the payer is still debited once', '99', isHosted ? '10' : '14'),
  ];
}
