import { counted } from '../../../contract/counted.ts';

/** The pages of the log of API requests. */
export const requests = {
  title: 'API requests',
  lead: 'The API requests of your servers in the last 7 days, with their answers. Phone numbers are masked. Keys and checkout URLs are left out.',
  unkept: (count: string) =>
    `${counted(count, 'request')} of the last 7 days ${count === '1' ? 'is' : 'are'} missing from this list. The API answered as usual. The log keeps a limited number of requests per second, and none while it is unavailable.`,
  columns: {
    time: 'Time',
    request: 'Request',
    order: 'Order number',
    answer: 'Answer',
    took: 'Duration',
  },
  filter: {
    title: 'Filter',
    outcome: 'Answer',
    endpoint: 'Request',
    orderNumber: 'Order number',
    requestId: 'Request id',
    from: 'From',
    to: 'To',
    any: 'Any',
    submit: 'Show',
    clear: 'Show all',
  },
  outcomes: { succeeded: 'Succeeded (2xx)', refused: 'Refused (4xx)', failed: 'Failed (5xx)' },
  endpoints: {
    register: 'Register order',
    direct: 'Direct payment',
    verify: 'Verify order',
    refund: 'Refund',
    verify_refund: 'Verify refund',
    explain: 'Explain order',
  },
  empty: {
    title: 'No requests yet',
    body: 'API requests of your servers appear here.',
  },
  noMatch: 'No requests of the last 7 days match. Remove a filter.',
  searchedTo: (when: string) => `Searched back to ${when}. Older requests may match too.`,
  goOn: 'Search further back',
  older: 'Older',
  newest: 'Newest',
  milliseconds: (count: string) => `${count} ms`,
  request: {
    title: 'API request',
    back: 'All API requests',
    time: 'Time',
    answer: 'Answer',
    why: 'Reason',
    took: 'Duration',
    order: 'Order number',
    sameOrder: 'All requests about this order',
    requestId: 'Request id',
    key: 'API key',
    path: 'Path',
    problems: 'Problems of the request',
    field: 'Field',
    issue: 'Issue',
    sent: 'Request body',
    notReadable: 'The body was not valid JSON.',
    answered: 'Answer body',
    noBody: 'Empty.',
  },
  /** By the reason in the log. `other` covers refusals for a reason without words here, `ours` covers 5xx except RECOVERING. */
  reasons: {
    INVALID_FIELDS: 'Some fields of the request are invalid. The answer names each one.',
    ORDER_NUMBER_TAKEN:
      'Another order already has this order number. It has other values, or it has ended. Use a new number for each order.',
    PAYMENT_IN_PROGRESS: 'The order has a payment in progress. Wait until it ends, or verify the order.',
    MONEY_NOT_RETURNED:
      'An earlier payment of this order took money that has not been returned to the payer. Wait until it is returned.',
    ORDER_NOT_PAYABLE: 'The order can no longer be paid. Register a new one.',
    ORDER_NOT_FOUND: 'There is no order with this number in this environment.',
    ORDER_NOT_REFUNDABLE: 'The order cannot be refunded. The answer says why.',
    REFUND_NUMBER_TAKEN: 'This refund number was used with other values. Use a new number for each refund.',
    REFUND_NOT_FOUND: 'There is no refund with this number in this environment.',
    IDEMPOTENCY_KEY_REUSED: 'The Idempotency-Key was used with another request. Use a new key.',
    INVALID_API_KEY: 'The API key was revoked or expired while the request arrived. Use another key.',
    API_KEY_NOT_ALLOWED: 'The key may not refund. Allow refunds on the page API keys.',
    MERCHANT_SUSPENDED: 'The merchant is suspended. Contact the operator of the gateway.',
    PRODUCTION_NOT_ACTIVATED:
      'Production is not activated for the merchant yet. Contact the operator of the gateway.',
    KEY_RATE_LIMITED:
      'The key, or all keys of the merchant together, exceeded the limit of requests per second. Wait for the time in Retry-After, and send fewer requests at once.',
    OVERLOADED: 'The gateway was overloaded. Wait for the time in Retry-After, then send the request again.',
    WAITING_LIMITED:
      'Too many requests of the merchant waited for the outcome of an order. Wait for the time in Retry-After, or send the request without Prefer: wait.',
    RECOVERING:
      'The gateway was restored from a backup, and did not accept payments yet. Wait for the time in Retry-After, then send the request again.',
    PHONE_BUSY: 'The customer’s phone has another payment to confirm. Wait until that payment ends.',
    PHONE_LIMIT: 'The customer’s phone was prompted too often. Wait for the time in Retry-After.',
    other: 'The request was refused.',
    ours: 'The error was on our side. Send the same request again.',
  },
};
