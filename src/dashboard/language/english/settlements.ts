import { counted } from '../../../contract/counted.ts';

/** The operators' page of money that waits for a person, and the words for settlements. */
export const settlements = {
  title: 'Waiting for a person',
  lead: 'Payments and refunds that a wallet does not decide, and stray payments that a wallet does not return. First ask the wallet what happened. Then one operator proposes the outcome, and another confirms it.',
  empty: 'Nothing waits for a person.',
  total: (count: string) => `${counted(count, 'item')} waiting. The longest waiting come first.`,
  columns: {
    since: 'Waiting since',
    merchant: 'Merchant',
    what: 'What waits',
    amount: 'Amount',
    actions: 'Settlement',
  },
  first: 'Longest waiting',
  next: 'Next',
  order: 'Order',
  noMerchant: 'No merchant',
  age: (age: string) => `${age} ago`,
  subjects: {
    payment: 'The wallet does not say whether it took the payment.',
    stray: 'The wallet refuses to return a stray payment, or does not say whether it did.',
    refund: 'The wallet does not say whether it returned the refund.',
  },
  latestAnswer: 'Latest answer:',
  outcomes: {
    paid: 'Paid: the wallet took exactly the amount of the order',
    notPaid: 'Not paid: no money moved',
    returned: 'Returned: the payer has the money',
    notReturned: 'Not returned: the payer does not have the money',
  },
  effects: {
    paid: 'The order becomes Completed.',
    notPaid: 'The payment ends as declined.',
    returned: 'The money counts as returned, and Gatehouse never requests it again.',
    notReturned: 'The refund becomes Failed, and its amount can be refunded again.',
  },
  propose: {
    open: 'Propose an outcome',
    outcome: 'What happened',
    reason: 'How you know',
    reasonHint: 'For the audit log, at most 500 characters.',
    reference: 'The wallet’s reference',
    referenceHint:
      'The number of the transaction or of the case at the wallet. If the order was paid, the number of its transaction.',
    submit: 'Propose',
    done: 'The proposal is stored. Another operator must confirm it within 24 hours.',
    wrongReference:
      'Enter the wallet’s reference. If the order was paid, enter the number of its own transaction.',
  },
  proposal: {
    by: (who: string, until: string) => `Proposed by ${who}. It expires on ${until}.`,
    own: 'You proposed it, so another operator must confirm it.',
    reason: (reason: string) => `Reason: ${reason}`,
    reference: (reference: string) => `Reference: ${reference}`,
    confirmBody: 'Check the reference at the wallet yourself. A confirmed settlement can never be undone.',
    confirm: 'Confirm permanently',
    confirmed: 'The settlement is confirmed and carried out.',
    withdraw: 'Withdraw the proposal',
    withdrawn: 'The proposal is withdrawn.',
  },
  refusals: {
    SECOND_OPERATOR_NEEDED: 'The operator who proposed a settlement cannot confirm it.',
    OPERATOR_TOO_NEW: 'Both operators must have been operators for at least 24 hours.',
    NOT_UNSETTLED: 'This no longer waits for a person: the wallet has decided.',
    WALLET_CALL_RUNNING: 'Gatehouse is asking the wallet about this money now. Try again in a minute.',
    SETTLEMENT_OPEN: 'Another proposal is already open. Confirm or withdraw it first.',
    SETTLEMENT_NOT_OPEN:
      'The proposal has expired, somebody decided about it already, or the operator who proposed it was disabled. An open proposal of a disabled operator can only be withdrawn.',
  } as Readonly<Record<string, string>>,
  otherRefusal: 'The settlement was refused, and nothing changed. Refresh the page to see the current state.',
  history: {
    title: 'Latest settlements',
    empty: 'No settlements yet.',
    older: 'Older settlements',
    columns: { when: 'Proposed', what: 'Outcome', who: 'Operators', state: 'Status' },
    states: { proposed: 'Proposed', confirmed: 'Confirmed', withdrawn: 'Withdrawn', expired: 'Expired' },
  },
  tile: {
    label: 'Waiting for a person',
    none: 'Nothing waits for a person.',
    some: (count: string) => `${counted(count, 'item')} waiting to be settled by hand.`,
  },
  commandLine: 'Operator at the command line',
};
