import { counted } from '../../../contract/counted.ts';

/** The pages of refunds. */
export const refunds = {
  title: 'Refunds',
  states: { awaiting: 'Awaiting approval', pending: 'Pending', completed: 'Completed', failed: 'Failed' },
  any: 'Any',
  columns: {
    created: 'Requested',
    order: 'Order number',
    state: 'Status',
    amount: 'Amount',
    reason: 'Reason',
    option: 'Payment option',
  },
  search: {
    order: 'Order number',
    orderHint: 'Enter the complete number.',
    state: 'Status',
    from: 'Requested from',
    to: 'Requested until',
    submit: 'Search',
    clear: 'Show all',
    wrong: 'The search did not run. Correct the fields marked below.',
    wrongDay: 'Enter a day as year-month-day, such as 2026-11-21.',
    wrongOrder: 'Enter at most 64 letters, digits or signs, without spaces.',
  },
  strays: 'Stray payments',
  csv: 'Download as CSV',
  empty: {
    title: 'No refunds yet',
    body: 'To refund a paid order, open the order and choose Refund.',
    byOthers: 'Owners and developers refund paid orders.',
  },
  noMatch: 'No refunds match. Remove a filter.',
  newest: 'Newest',
  form: {
    title: (order: string) => `Refund ${order}`,
    back: 'The order',
    left: (left: string) => `Up to ${left} of this order can be refunded.`,
    held: (refunded: string, pending: string) => `Refunded: ${refunded}. Pending: ${pending}.`,
    amount: (currency: string) => `Amount in ${currency}`,
    amountHint: 'Such as 1500 or 99.50, without thousands separators.',
    whole: 'This wallet returns a payment only as a whole, so the amount is fixed.',
    reason: 'Reason for the refund',
    reasonHint: 'It appears in the history of the order and in the audit log. The payer does not see it.',
    check: 'Continue',
    wrong: 'Nothing was refunded. Correct the fields marked below.',
    wrongReason: 'Enter at most 255 characters, on one line.',
    tooMuch: (left: string) => `Enter at most ${left}.`,
    tooMuchOfRest: (left: string) => `Enter at most ${left}. The rest is already refunded or pending.`,
    onlyWhole: (left: string) => `Enter ${left}. This wallet returns a payment only as a whole.`,
    noDecimals: 'Enter a whole amount. This wallet takes no decimals.',
    fewerDecimals: (maxDecimals: number) =>
      `Enter at most ${counted(maxDecimals, 'decimal')}. This wallet takes no more.`,
    changed: 'The amount that can be refunded has changed. Check the amount again.',
    suspended: 'The merchant is suspended, so nothing can be refunded. Contact the operator.',
    notActivated: 'Production is not activated yet. Ask the operator.',
    already: {
      title: 'This form has already created a refund',
      body: 'Nothing more was refunded.',
      open: 'Show that refund',
      another: 'Start another refund',
    },
    not: {
      notCompleted: 'The order is not completed, so there is nothing to refund.',
      nothingLeft: 'Refunds cover everything that was paid.',
      byWallet:
        'The wallet that was paid cannot return payments through Gatehouse. Return the money to the customer in another way.',
      stray: 'The payment is already on its way back to the payer as a stray payment.',
    },
  },
  confirm: {
    title: 'Check the refund',
    lead: (amount: string, phone: string, option: string) =>
      `${amount} will go back to ${phone} by ${option}. This cannot be undone.`,
    needsApproval: (limit: string) =>
      `Refunds of an order above ${limit} in total need a second person. Nothing is sent to the wallet until an owner approves it.`,
    needsApprovalOfRole: (limit: string) =>
      `Your role can refund up to ${limit} of an order alone. This refund is above that, so nothing is sent to the wallet until an owner approves it.`,
    needsApprovalAlways:
      'Each refund needs a second person. Nothing is sent to the wallet until an owner approves it.',
    amount: 'Amount',
    to: 'Goes back to',
    option: 'By',
    order: 'Order number',
    reason: 'Reason',
    number: 'Refund number',
    submit: (amount: string) => `Refund ${amount}`,
    ask: (amount: string) => `Ask for approval of ${amount}`,
    edit: 'Change the amount or the reason',
    cancel: 'Do not refund',
    noPhone: 'the payer',
  },
  made: 'The refund is created. Gatehouse sends it to the wallet.',
  madeAwaiting: 'The refund waits for the approval of an owner.',
  one: {
    title: (amount: string) => `Refund of ${amount}`,
    back: 'All refunds',
    summary: {
      awaiting:
        'The refund waits for the approval of an owner who did not request it. Nothing has been sent to the wallet.',
      requested: (option: string) => `Gatehouse sends the refund to ${option} next.`,
      sent: (option: string) => `${option} has received the request and has not confirmed it yet.`,
      unknown: (option: string) =>
        `${option} has not reported whether it returned the money. Gatehouse repeats the query until it gets a definite answer. Do not return the money in another way before that.`,
      completed: (amount: string, option: string, when: string) =>
        `${option} confirmed on ${when} that ${amount} went back to the payer.`,
      failed: (when: string, reason: string) => `The refund failed on ${when}: ${reason}. No money moved.`,
      declined: (when: string) => `The refund was declined on ${when}. No money moved.`,
      settledCompleted: (amount: string, when: string) =>
        `Two operators recorded on ${when} that the payer has ${amount}.`,
      settledFailed: (when: string) =>
        `Two operators recorded on ${when} that the payer does not have the money. The refund failed.`,
    },
    whatToDo: 'What to do',
    facts: {
      title: 'The refund',
      id: 'Refund id',
      number: 'Refund number',
      order: 'Order',
      amount: 'Amount',
      reason: 'Reason',
      option: 'Payment option',
      askedBy: 'Requested by',
      approvedBy: 'Approved by',
      declinedBy: 'Declined by',
      reference: 'Wallet’s reference',
      transaction: 'Wallet transaction of the payment',
      answer: 'Wallet’s latest message',
      tries: 'Requests to the wallet',
      settlement: 'Settlement',
      created: 'Requested',
      updated: 'Status since',
    },
    people: {
      apiKey: (id: string) => `API key ${id}`,
      former: (id: string) =>
        `A user who left the team (${id}). An owner finds the address in the audit log.`,
      service: 'An internal service',
      operator: (name: string) => `Operator at the command line: ${name}`,
      someOperator: 'An operator at the command line',
    },
    actions: 'Actions',
    approve: {
      body: (amount: string) => `Your approval sends ${amount} back to the payer. This cannot be undone.`,
      submit: 'Approve the refund',
      done: 'The refund is approved. Gatehouse sends it to the wallet.',
      own: 'You requested this refund, so an owner other than you must approve it.',
      developers: 'An owner must approve this refund.',
      samePerson: 'The person who requested a refund cannot approve it.',
      decided: 'This refund has already been approved or declined.',
    },
    decline: {
      open: 'Decline the refund',
      reason: 'Why (optional)',
      wrongReason:
        'The refund still waits for approval. The reason contains characters that cannot be stored. Enter it again as plain text, on one line.',
      submit: 'Decline',
      done: 'The refund is declined. No money moved.',
    },
    withdraw: {
      open: 'Withdraw the refund',
      body: 'The refund ends as failed and nothing is sent to the wallet.',
      submit: 'Withdraw',
      done: 'The refund is withdrawn. No money moved.',
    },
    query: {
      body: 'Gatehouse repeats the query automatically. This button sends a query now.',
      submit: 'Query the wallet now',
      done: 'The wallet is being queried.',
    },
    again: 'Refund the order again',
    live: 'This page updates by itself.',
    reload: 'Refresh',
  },
  /** By the failure reason of a refund. */
  failures: {
    account_state: {
      reason: 'the payer’s wallet account is blocked or closed',
      advice: 'Return the money to the customer in another way, such as by bank transfer.',
    },
    payer_not_found: {
      reason: 'the payer’s phone has no wallet any more',
      advice: 'Return the money to the customer in another way, such as by bank transfer.',
    },
    insufficient_funds: {
      reason: 'the account that returns the payment has too little money',
      advice:
        'If it is your own account, add money to it. Otherwise ask the operator to add money. Then refund the order again.',
    },
    limit_exceeded: {
      reason: 'the amount exceeds a limit of the wallet',
      advice: 'Refund a smaller amount if the wallet allows parts, or try again tomorrow.',
    },
    merchant_config: {
      reason: 'the account that received the payment may not return payments',
      advice: 'Ask the operator to have refunds allowed at the wallet, then refund the order again.',
    },
    invalid_request: {
      reason: 'the wallet did not accept the request',
      advice: 'Give the operator the refund id below. The operator can ask the wallet why.',
    },
    approval_declined: {
      reason: 'it was declined',
      advice: 'Ask the person who declined it. You can request another refund of the order.',
    },
    settled_by_operator: {
      reason: 'two operators recorded that the payer does not have the money',
      advice: 'You can refund the order again.',
    },
  } as Readonly<Record<string, { readonly reason: string; readonly advice: string }>>,
  otherFailure: {
    reason: 'the wallet refused it',
    advice: 'Refund the order again. If it fails again, give the operator the refund id below.',
  },
  approval: {
    title: 'Refund approval',
    lead: 'A refund above a limit waits for a second person. An owner who did not request the refund approves or declines it.',
    limit: (currency: string) => `Approval above, in ${currency}`,
    hint: 'A limit counts all refunds of one order together. Enter 0 to hold every refund.',
    groups: {
      everybody: {
        title: 'Everybody',
        text: 'For every request, unless a role below has its own limit. Leave a field empty for no limit.',
        none: 'No limit: one person is enough.',
      },
      developers: {
        title: 'Developers',
        text: 'The total of an order that developers may refund without approval. Leave a field empty to use the limit for everybody.',
        none: 'The limit for everybody.',
      },
      owners: {
        title: 'Owners',
        text: 'The total of an order that owners may refund without approval. Leave a field empty to use the limit for everybody.',
        none: 'The limit for everybody.',
      },
    },
    wrong: 'Nothing was saved. Correct the fields marked below.',
    wrongAmount: 'Enter digits with a point before decimals, such as 1500 or 99.50.',
    submit: 'Save',
    done: 'The limits are saved. They apply to refunds from now on.',
    meanwhile: {
      title: 'Somebody else changed the merchant first',
      body: 'Nothing was saved. The form below shows the current limits.',
    },
    oneOwner:
      'This merchant has one owner. Nobody can approve a refund that this owner requests above a limit. The owner can only withdraw it. Invite another owner first.',
    apiKeys:
      'The limit for everybody applies to refunds that your server requests through the API. Developers can create keys that refund, so set that limit too.',
    current: 'Limits',
  },
  waiting: {
    title: 'Refunds that wait for approval',
    text: (count: string) => `${counted(count, 'refund')} waiting`,
    open: 'Show refunds',
  },
};
