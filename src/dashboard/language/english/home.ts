import { counted } from '../../../contract/counted.ts';

/** The first page of a merchant. */
export const home = {
  title: 'Home',
  spans: {
    label: 'Time',
    today: 'Today',
    yesterday: 'Yesterday',
    week: '7 days',
    month: '30 days',
    last_month: 'Last month',
  },
  tiles: {
    orders: 'Orders',
    completed: 'Completed',
    collected: 'Collected',
    refunded: 'Refunded',
    successRate: 'Payment success',
    successOf: (succeeded: string, tried: string) => `${succeeded} of ${counted(tried, 'payment attempt')}`,
    abandoned: 'Abandoned',
    abandonedHint: 'Orders that were cancelled, that expired unpaid, or whose last payment was never sent',
    nothing: 'Nothing yet',
  },
  closed: {
    suspended: {
      title: 'This merchant is suspended',
      body: 'Gatehouse refuses new orders, payments and refunds. Contact the operator.',
    },
    notActivated: {
      title: 'Production is not activated yet',
      body: 'You can prepare keys, wallets and webhooks here. Requests with a live key are refused until the operator activates production. Ask the operator when your tests in the sandbox are complete.',
    },
  },
  recovery: {
    waiting: {
      title: 'New payments wait',
      body: 'Gatehouse was restored from a backup, and first asks the wallets what happened after it. New refunds and approvals wait too. All of them continue afterwards. Repeat requests that were answered with 503.',
    },
    title: 'Gatehouse was restored from a backup',
    rebuilt: (from: string, until: string) =>
      `The orders of ${from} to ${until} were rebuilt. Their webhooks may arrive again, with the same event ids.`,
    mayBeMissing: (from: string, until: string) =>
      `Orders of ${from} to ${until} may be missing. Verify your orders of that time. If an order is not found, register it again with the same order_number and values. If the wallet reports its payment, Gatehouse finds it and does not charge the customer again.`,
    check: 'Check the API keys, signing secrets, users and settings that you changed in that time.',
  },
  behind: (when: string) => `The numbers are complete up to ${when}. Later events are still being counted.`,
  chart: {
    title: { hour: 'Orders by hour', day: 'Orders by day' },
    table: 'As a table',
    columns: {
      time: 'Time',
      registered: 'Registered',
      completed: 'Completed',
      failed: 'Failed',
      abandoned: 'Abandoned',
      collected: 'Collected',
      refunded: 'Refunded',
    },
  },
  failures: {
    title: 'Why payments failed',
    empty: 'No payment failed.',
    columns: { reason: 'Reason', count: 'Payments' },
    reasons: {
      insufficient_funds: 'Insufficient funds in the wallet',
      wrong_pin: 'Wrong PIN',
      declined_by_payer: 'The payer declined',
      payer_not_found: 'The phone has no wallet',
      limit_exceeded: 'The amount exceeds a limit of the wallet',
      account_state: 'The wallet account is blocked or closed',
      payer_busy: 'The phone had another payment to confirm',
      invalid_request: 'The wallet did not accept the request',
      merchant_config: 'The merchant’s account at the wallet is not set up',
      provider_error: 'The wallet reported an error',
      wrong_amount: 'The wallet took another amount',
      amount_not_returnable:
        'The wallet reported an amount that cannot be returned. Ask the wallet what it took',
      settled_by_operator: 'Operators settled it as not paid',
      timed_out: 'The payment was not confirmed in time',
      not_sent: 'The request was not sent to the wallet',
      money_not_returned: 'It was not sent, because money of an earlier payment was not returned yet',
      cancelled: 'The order was cancelled',
      session_ended: 'The order expired before it was paid',
    } as Readonly<Record<string, string>>,
  },
  abandoned: {
    title: 'Why orders were abandoned',
    empty: 'No order was abandoned.',
    columns: { reason: 'Reason', count: 'Orders' },
  },
  options: {
    title: 'By payment option',
    empty: 'No payment has ended yet.',
    columns: {
      option: 'Option',
      succeeded: 'Paid',
      failed: 'Failed',
      rate: 'Success',
      collected: 'Collected',
      refunded: 'Refunded',
    },
  },
  webhooks: {
    title: 'Webhook receivers with problems',
    waiting: (count: string) => `${count} waiting`,
    latest: (result: string) => `latest result: ${result}`,
    open: 'Show webhooks',
  },
  steps: {
    title: 'First steps',
    key: 'Create an API key',
    order: 'Register a first order',
    completed: 'Complete a first payment',
    webhook: 'Create a signing secret for webhooks',
    done: 'Done',
    toDo: 'To do',
  },
};
