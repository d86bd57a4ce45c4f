/** One payment to play. */
export interface Journey {
  readonly title: string;
  readonly amount: string;
  /** The payer's phones with their payment options. The first phone that may be prompted is used. */
  readonly payers: readonly { readonly phone: string; readonly option: string }[];
  /** Whether the order has a webhook_url, so that the shop gets a webhook. */
  readonly hasWebhook: boolean;
  /** Whether the payment becomes a stray payment, which must be reversed. */
  readonly isStray: boolean;
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
    payers: endingIn('00'),
    hasWebhook: true,
    isStray: false,
  },
  {
    title: 'A customer has insufficient funds',
    amount: '2500.00',
    payers: endingIn('01'),
    hasWebhook: false,
    isStray: false,
  },
  {
    title: 'A wallet debits the wrong amount: the order is not paid, and the money is reversed',
    amount: '99.50',
    payers: endingIn('19'),
    hasWebhook: false,
    isStray: true,
  },
];
