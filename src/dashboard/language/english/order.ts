import { counted } from '../counted.ts';

/** The page of one order, and its story. */
export const order = {
  /** What happened, in one sentence: it is all that most people look for. */
  summary: {
    unpaid: (amount: string, until: string) =>
      `The customer has not started to pay. ${amount} can be paid until ${until}.`,
    asked: (phone: string, option: string) =>
      `A payment is under way: ${phone} was asked by ${option} and has not confirmed yet.`,
    unknown: (option: string) =>
      `${option} has not said whether it took the money. Gatehouse keeps asking until it knows.`,
    declined: (reason: string, until: string) =>
      `The last payment failed (${reason}). The customer can try again until ${until}.`,
    paid: (amount: string, phone: string, option: string, when: string) =>
      `${phone} paid ${amount} by ${option} on ${when}.`,
    completed: (amount: string, when: string) => `${amount} was paid on ${when}.`,
    cancelled: (when: string) => `The order was cancelled on ${when} before it was paid.`,
    failed: (when: string) => `The order failed on ${when}. It was not paid.`,
    failedFor: (when: string, reason: string) => `The payment failed on ${when}: ${reason}.`,
    expired: (when: string) => `The order expired on ${when}. Nobody tried to pay it.`,
    expiredAfter: (when: string, reason: string) =>
      `The order expired on ${when} unpaid. The last payment failed: ${reason}.`,
  },
  facts: {
    title: 'The order',
    id: 'Order id',
    status: 'Status',
    amount: 'Amount',
    deducted: 'Collected',
    type: 'Kind',
    option: 'Payment option',
    transaction: 'Wallet transaction',
    phone: 'Customer’s phone',
    reason: 'Reason',
    business: 'Business',
    returnUrl: 'return_url',
    webhookUrl: 'webhook_url',
    created: 'Registered',
    updated: 'Latest status',
    expires: 'Session ends',
  },
  actions: {
    title: 'Actions',
    checkout: 'Checkout',
    checkoutBody: 'Whoever opens it first can pay there, once.',
    checkoutHidden:
      'Only owners and developers of the merchant see the link, because it can pay or cancel the order.',
    hasten: 'Ask the wallet now',
    hastenBody:
      'The wallet has not said how the payment ended. It is asked again and again by itself; this asks at once.',
    hastened: 'The wallet is asked. Load the page again in a moment.',
    cancel: 'Cancel the order',
    cancelBody: 'It cannot be paid any more, and becomes Failed. It cannot be undone.',
    cancelSubmit: 'Cancel for good',
    cancelled: 'The order is cancelled.',
    inProgress: 'A payment is under way: wait for how it ends.',
    ended: 'The order has ended meanwhile.',
    redeliver: 'Send the webhook again',
  },
  story: {
    title: 'What happened',
    kinds: {
      event: 'Order',
      wallet: 'Wallet',
      webhook: 'Webhook',
      request: 'API request',
      stray: 'Stray payment',
    },
    withoutWebhooks: 'Webhook deliveries cannot be shown at the moment. Load the page again later.',
    incomplete: 'This order has more steps than this page shows. The oldest steps are left out.',
    events: {
      created: 'Registered',
      started: (option: string, phone: string) => `Payment started: ${option}, ${phone}`,
      declined: 'Payment declined',
      completed: 'Completed',
      failed: 'Failed',
      expired: 'Expired: the session ended unpaid',
    },
    collected: (amount: string) => `${amount} collected`,
    request: (id: string) => `Caused by request ${id}`,
    exchange: (purpose: string, attempt: string) => `${purpose}, ${attempt}`,
    purposes: {
      token: 'Signing in at the wallet',
      initiate: 'Asked for the payment',
      query: 'Asked how the payment stands',
      recover: 'Asked whether the payment arrived',
      reverse: 'Asked to send money back',
      query_reversal: 'Asked how sending back stands',
      callback: 'The wallet called',
    } as Readonly<Record<string, string>>,
    noAnswer: 'no answer',
    omitted: (count: string) =>
      counted(count, 'exchange in between is not kept', 'exchanges in between are not kept'),
    sent: 'Sent',
    answered: 'Answered',
    took: (milliseconds: string) => `${milliseconds} ms`,
    webhook: (type: string, number: string) => `${type}, try ${number}`,
    webhookWaiting: (type: string) => `${type} is to be sent`,
    delivery: 'Show the delivery',
    apiRequest: 'Show the request',
    apiRequests: 'Show the requests',
    steps: (text: string, kinds: string, isTrouble: boolean) =>
      `${counted(text, 'technical step')} (${kinds})${isTrouble ? ', with a problem' : ''}`,
    times: (count: string, first: string, last: string) =>
      `${counted(count, 'time')}, from ${first} to ${last}`,
    stray: (amount: string) => `A payment of ${amount} arrived that does not match this order`,
    strayStates: {
      due: 'It is being sent back.',
      reversed: 'It was sent back.',
      refused: 'The wallet refused to send it back; the operator sees to it.',
    },
    decisive: 'This decided how the payment ended.',
  },
};
