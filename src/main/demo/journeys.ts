/** One payment to play. */
export interface Journey {
  readonly title: string;
  readonly amount: string;
  /** Phones of the payer, with the option each is asked through; the first that may be asked is. */
  readonly payers: readonly { readonly phone: string; readonly option: string }[];
  /** Whether the order is registered with a webhook_url before it is paid, and the shop told of its end. */
  readonly isTold: boolean;
  /** Whether money comes in that has to go back. */
  readonly isStray: boolean;
}

/** Numbers of the simulated wallets that always end in one way: docs/operating/wallet-simulator.md. */
const endingIn = (outcome: string): Journey['payers'] => [
  { phone: `+2519000000${outcome}`, option: 'walleta_ussd' },
  { phone: `+2517000000${outcome}`, option: 'walletb_ussd' },
];

export const journeys: readonly Journey[] = [
  {
    title: 'A customer pays, and the shop is told',
    amount: '150.00',
    payers: endingIn('00'),
    isTold: true,
    isStray: false,
  },
  {
    title: 'A customer has too little money',
    amount: '2500.00',
    payers: endingIn('01'),
    isTold: false,
    isStray: false,
  },
  {
    title: 'A wallet takes another amount than was asked for: the order cannot have it, and it goes back',
    amount: '99.50',
    payers: endingIn('19'),
    isTold: false,
    isStray: true,
  },
];
