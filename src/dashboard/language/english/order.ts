import { counted } from '../../../contract/counted.ts';

/** The page of one order, with its history. */
export const order = {
  /** The state of the order in one sentence. Most readers need nothing else. */
  summary: {
    unpaid: (amount: string, until: string) =>
      `The customer has not started to pay. ${amount} can be paid until ${until}.`,
    asked: (phone: string, option: string) =>
      `A payment from ${phone} by ${option} is in progress. The payer has not confirmed it yet.`,
    unsent: (phone: string, option: string) =>
      `A payment from ${phone} by ${option} was started. The wallet has not received the request yet, so the payer has no prompt.`,
    unknown: (option: string) =>
      `${option} has not reported whether it took the money. Gatehouse repeats the query until it gets a definite answer.`,
    undecidedSince: (when: string, age: string) =>
      `The order stays Pending until then. The payment started on ${when}, ${age} ago.`,
    askOperator: 'If the wallet does not decide, two operators can settle the payment by hand.',
    declined: (reason: string, until: string) =>
      `The last payment failed: ${reason}. The customer can try again until ${until}.`,
    paid: (amount: string, phone: string, option: string, when: string) =>
      `${phone} paid ${amount} by ${option} on ${when}.`,
    completed: (amount: string, when: string) => `${amount} was paid on ${when}.`,
    cancelled: (when: string) => `The order was cancelled on ${when} before it was paid.`,
    failed: (when: string) => `The order failed on ${when}. It was not paid.`,
    failedFor: (when: string, reason: string) => `The payment failed on ${when}: ${reason}.`,
    expired: (when: string) => `The order expired on ${when}. No payment was attempted.`,
    expiredAfter: (when: string, reason: string) =>
      `The order expired on ${when} unpaid. The last payment failed: ${reason}.`,
  },
  facts: {
    title: 'The order',
    id: 'Order id',
    status: 'Status',
    amount: 'Amount',
    deducted: 'Collected',
    type: 'Payment type',
    option: 'Payment option',
    transaction: 'Wallet transaction',
    phone: 'Customer’s phone',
    reason: 'Reason',
    business: 'Business',
    returnUrl: 'return_url',
    webhookUrl: 'webhook_url',
    created: 'Registered',
    updated: 'Status since',
    expires: 'Expires',
  },
  samePhone: (phone: string) => `All orders of ${phone}`,
  actions: {
    title: 'Actions',
    checkout: 'Checkout',
    checkoutBody: 'After a payment has started there, only the browser that started it can pay the order.',
    checkoutHidden:
      'Only owners and developers of the merchant see the link, because it can pay or cancel the order.',
    settle: 'Show all money that waits for a person',
    queryWallet: 'Query the wallet now',
    queryWalletBody:
      'The wallet has not reported the outcome of the payment. Gatehouse repeats the query automatically. This button sends a query now.',
    walletQueried: 'The wallet is being queried. Refresh the page in a moment.',
    nothingToQuery: 'No payment of this order waits for the wallet any more, so the wallet was not queried.',
    cancel: 'Cancel the order',
    cancelBody: 'The order becomes Failed and can no longer be paid. This cannot be undone.',
    cancelSubmit: 'Cancel permanently',
    cancelled: 'The order is cancelled.',
    inProgress: 'A payment is in progress. Wait for its outcome.',
    ended: 'The order has already ended.',
    redeliver: 'Send the webhook again',
  },
  refunds: {
    title: 'Refund',
    refunded: (amount: string) => `${amount} was refunded.`,
    pending: (amount: string) => `Refunds of ${amount} are pending.`,
    latestFailed: (amount: string) => `The latest refund, of ${amount}, failed.`,
    left: (amount: string) => `Up to ${amount} can be returned to the payer.`,
    whole: (amount: string) =>
      `${amount} can be returned to the payer. This wallet returns a payment only as a whole.`,
    nothingLeft: 'Refunds cover everything that was paid.',
    byWallet: (wallet: string) =>
      `${wallet} cannot return payments through Gatehouse. Return the money to the customer in another way.`,
    start: 'Refund',
    live: 'This page updates itself while a refund is pending.',
    reload: 'Refresh',
  },
  story: {
    title: 'What happened',
    kinds: {
      event: 'Order',
      wallet: 'Wallet',
      webhook: 'Webhook',
      request: 'API request',
      stray: 'Stray payment',
      refund: 'Refund',
    },
    withoutWebhooks: 'Webhook deliveries are unavailable at the moment. Refresh the page later.',
    incomplete: 'This order has more steps than this page shows. The oldest steps are left out.',
    events: {
      created: 'Registered',
      started: (option: string, phone: string) => `Payment started: ${option}, ${phone}`,
      declined: 'Payment declined',
      completed: 'Completed',
      failed: 'Failed',
      expired: 'Expired unpaid',
      refundRequested: (amount: string) => `Refund of ${amount} requested`,
      refundAwaiting: (amount: string) => `Refund of ${amount} requested, awaiting approval`,
      refundApproved: (amount: string) => `Refund of ${amount} approved`,
      refundCompleted: (amount: string) => `${amount} refunded`,
      refundFailed: (amount: string) => `Refund of ${amount} failed`,
      straySettled: 'Operators recorded that a stray payment was returned',
    },
    refundReason: (reason: string) => `Reason: ${reason}`,
    settled: 'Two operators settled this by hand.',
    refund: 'Show the refund',
    collected: (amount: string) => `${amount} collected`,
    request: (id: string) => `Caused by request ${id}`,
    exchange: (purpose: string, attempt: string) => `${purpose}, ${attempt}`,
    purposes: {
      token: 'Access token request',
      initiate: 'Payment request',
      query: 'Payment query',
      recover: 'Query whether the payment request arrived',
      reverse: 'Reversal request',
      query_reversal: 'Reversal query',
      callback: 'Callback from the wallet',
    } as Readonly<Record<string, string>>,
    noAnswer: 'no answer',
    omitted: (count: string) =>
      counted(count, 'exchange in between was not stored', 'exchanges in between were not stored'),
    sent: 'Sent',
    answered: 'Answered',
    took: (milliseconds: string) => `${milliseconds} ms`,
    webhook: (type: string, number: string) => `${type}, attempt ${number}`,
    webhookWaiting: (type: string) => `${type} is pending`,
    webhookAbandoned: (type: string) => `${type} was abandoned before it was sent`,
    delivery: 'Show the delivery',
    apiRequest: 'Show the request',
    apiRequests: 'Show the requests',
    steps: (text: string, kinds: string, isTrouble: boolean) =>
      `${counted(text, 'technical step')} (${kinds})${isTrouble ? ', with a problem' : ''}`,
    times: (count: string, first: string, last: string) =>
      `${counted(count, 'time')}, from ${first} to ${last}`,
    stray: (amount: string) => `A payment of ${amount} arrived that this order could not accept`,
    strayStates: {
      due: 'It is being reversed.',
      reversed: 'It was reversed.',
      refused: 'The wallet refused to reverse it. The operator resolves this with the wallet.',
    },
    decisive: 'This answer decided the outcome of the payment.',
  },
};
