/** The action that a difference requires, by its facts. Core words the same action in an English sentence. */
export type DifferenceAdvice =
  | 'readAtWallet'
  | 'askForPayment'
  | 'askForStray'
  | 'askForRefund'
  | 'failedButReturned'
  | 'askForOwner'
  | 'askForAccount'
  | 'secondCharge'
  | 'askForAmount'
  | 'queriedAgain'
  | 'returnedWithoutRefund'
  | 'nothingLeft'
  | 'askForOutcome';

/** The pages of reconciliations. */
export const reconciliations = {
  title: 'Reconciliation',
  lead: 'Gatehouse compares the daily statement of each wallet that has one with its own records. It compares every past day automatically.',
  columns: {
    day: 'Day',
    wallet: 'Wallet',
    status: 'State',
    entries: 'Entries',
    differences: 'Differences',
    by: 'Started by',
  },
  statuses: { waiting: 'Waiting', running: 'Reading', completed: 'Compared', failed: 'Failed' },
  empty: 'No day has been compared yet.',
  start: {
    title: 'Compare a day',
    wallet: 'Wallet',
    date: 'Day (UTC)',
    submit: 'Compare',
    refused: 'Choose a day up to today.',
    noStatement: (payee: string) =>
      `The statement of ${payee} cannot be read. The merchant may have removed the account.`,
    noWallet: 'No wallet of this environment has a statement that Gatehouse reads.',
  },
  byItself: 'Automatic',
  balances: 'Balances by day',
  one: {
    title: (wallet: string, day: string) => `${wallet}, ${day}`,
    back: 'All days',
    payee: 'Account',
    operatorsPayee: 'Your account',
    lastProblem: 'Last problem',
    note: 'Note',
    due: 'Next attempt',
    started: 'Started',
    noDifferences: 'The statement and the records agree.',
    notYet: 'The comparison starts after the whole statement has been read.',
    more: 'There are more differences. To list all of them, run:',
    columns: {
      number: '#',
      kind: 'Difference',
      wallet: 'Statement of the wallet',
      ours: 'Our records',
      advice: 'What to do',
    },
    kinds: {
      unknown: 'Other difference',
      missingInStatement: 'Missing in the statement',
      missingHere: 'Missing in our records',
      amount: 'Different amount',
      status: 'Different outcome',
      unreadable: 'Unreadable entry',
      otherAccount: 'Other account',
    },
    nothing: 'Nothing',
    /** By the status in a wallet's statement and in our records. */
    statuses: {
      completed: 'completed',
      pending: 'pending',
      failed: 'failed',
      reversed: 'reversed',
      other: 'other',
      requested: 'requested',
      sent: 'sent',
      succeeded: 'paid',
      declined: 'declined',
      timed_out: 'timed out',
      unknown: 'unknown',
      reversal_due: 'reversal due',
      reversal_refused: 'reversal refused',
    } as Readonly<Record<string, string>>,
    /** Empty in English: the page shows core's sentence. */
    advice: {} as Readonly<Partial<Record<DifferenceAdvice, string>>>,
  },
};

/** The page of daily balances. */
export const balances = {
  title: 'Balances',
  lead: 'The money in each wallet’s statement against the money in Gatehouse’s records, by day (UTC) and merchant. Both sides must be equal.',
  back: 'Reconciliation',
  all: 'Show all days',
  onlyDifferent: 'Show only days with a difference',
  empty: 'No day has been compared yet.',
  noDifference: 'Every compared day balances.',
  compare: 'Compare now',
  noMerchant: 'No merchant',
  columns: {
    day: 'Day',
    wallet: 'Wallet',
    merchant: 'Merchant',
    statement: 'Statement',
    records: 'Our records',
    difference: 'Difference',
  },
  parts: {
    statementIn: 'In',
    statementOut: 'Out',
    completed: 'Paid orders',
    strays: 'Stray payments',
    reversals: 'Reversed',
    refunds: 'Refunded',
  },
  states: { differs: 'Difference', balances: 'None', provisional: 'Provisional' },
  corrected: (when: string) => `Corrected ${when}`,
  before: (difference: string) => `before: ${difference}`,
  noneBefore: 'no difference before',
  missing: {
    title: 'Days without a balance',
    lead: 'These days have ended, and no statement of the wallet was compared. A difference would not be seen.',
    reason: 'Reason',
  },
  reasons: {
    noStatement: 'No statements from this wallet',
    waiting: 'Not read yet',
    unreadable: 'Statement could not be read',
    accountRemoved: 'The merchant’s own account was removed',
  },
};
