import { counted } from '../counted.ts';

/** The first page of a merchant. */
export const home = {
  title: 'Home',
  spans: { label: 'Time', today: 'Today', week: '7 days', month: '30 days' },
  tiles: {
    orders: 'Orders',
    completed: 'Completed',
    collected: 'Collected',
    successRate: 'Payment success',
    successOf: (succeeded: string, tried: string) =>
      `${succeeded} of ${counted(tried, 'payment that was tried', 'payments that were tried')}`,
    abandoned: 'Abandoned',
    abandonedHint: 'Orders that were cancelled or expired unpaid',
    nothing: 'Nothing yet',
  },
  behind: (when: string) => `What happened since ${when} is still being counted.`,
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
    },
  },
  failures: {
    title: 'Why payments failed',
    empty: 'No payment failed.',
    columns: { reason: 'Reason', count: 'Payments' },
    reasons: {
      insufficient_funds: 'Not enough money in the wallet',
      wrong_pin: 'Wrong PIN',
      declined_by_payer: 'The payer refused',
      payer_not_found: 'The phone has no wallet',
      limit_exceeded: 'Over a limit of the wallet',
      account_state: 'The wallet account is blocked or closed',
      payer_busy: 'Another payment was under way',
      invalid_request: 'The wallet did not accept the request',
      merchant_config: 'The merchant’s account at the wallet is not set up',
      provider_error: 'The wallet failed',
      wrong_amount: 'The wallet took another amount',
      timed_out: 'Nobody confirmed in time',
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
    },
  },
  webhooks: {
    title: 'Webhooks in trouble',
    waiting: (count: string) => `${count} waiting`,
    latest: (result: string) => `latest result: ${result}`,
    open: 'Look at webhooks',
  },
  steps: {
    title: 'First steps',
    key: 'Make an API key',
    order: 'Register a first order',
    completed: 'See a first payment completed',
    webhook: 'Take a webhook secret',
    done: 'Done',
    toDo: 'To do',
  },
};
