import { counted } from '../counted.ts';

/** The pages of the log of API requests. */
export const requests = {
  title: 'API requests',
  lead: 'What your programs asked of the API in the last 7 days, and what they were told. Phone numbers are masked; keys and checkout links are left out.',
  unkept: (count: string) =>
    `${counted(count, 'request')} of the last 7 days ${count === '1' ? 'is' : 'are'} not in this list, though answered as usual. The log keeps some of the requests when more than 50 come in a second, and none while it is unavailable.`,
  columns: {
    time: 'Time',
    request: 'Request',
    order: 'Order number',
    answer: 'Answer',
    took: 'Took',
  },
  filter: {
    title: 'Narrow the list down',
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
  endpoints: { register: 'Register order', direct: 'Direct payment', verify: 'Check order' },
  empty: {
    title: 'No request yet',
    body: 'As soon as your program asks the API for something, it is here.',
  },
  noMatch: 'No request of the last 7 days is like that.',
  older: 'Older',
  newest: 'Newest',
  milliseconds: (count: string) => `${count} ms`,
  request: {
    title: 'API request',
    back: 'All API requests',
    time: 'Time',
    answer: 'Answer',
    why: 'Why',
    took: 'Took',
    order: 'Order number',
    sameOrder: 'All requests about this order',
    requestId: 'Request id',
    key: 'API key',
    path: 'Path',
    problems: 'What was wrong with it',
    field: 'Field',
    issue: 'Issue',
    sent: 'What was sent',
    notReadable: 'No body that could be read as JSON.',
    answered: 'What was answered',
    noBody: 'Nothing.',
  },
  /** By the reason that the log has; `other` for what is refused for a reason without words, `ours` for 5xx. */
  reasons: {
    INVALID_FIELDS: 'Fields of the request are not as the API expects them; the answer names each one.',
    ORDER_NUMBER_TAKEN:
      'The order number was used before, with other values or for an order that has ended. Use a new one for each order.',
    PAYMENT_IN_PROGRESS: 'The order has a payment under way. Wait until it has ended, or check the order.',
    MONEY_NOT_RETURNED:
      'An earlier payment of this order took money that is not back with the payer. Wait until it is back.',
    ORDER_NOT_PAYABLE: 'The order can no longer be paid. Register a new one.',
    ORDER_NOT_FOUND: 'There is no order with this number in this environment.',
    MERCHANT_SUSPENDED: 'Your account is suspended. Talk to whoever runs the gateway.',
    PRODUCTION_NOT_ACTIVATED: 'Production is not activated for you yet. Talk to whoever runs the gateway.',
    KEY_RATE_LIMITED:
      'The key made more requests a second than it may. Wait as Retry-After says, and send less at once.',
    OVERLOADED:
      'The gateway had more to do than it could. Send it again after a moment, as Retry-After says.',
    PHONE_BUSY: 'The customer’s phone has another payment to confirm. Wait until that has ended.',
    PHONE_LIMIT: 'The customer’s phone has been asked to pay too often. Wait as Retry-After says.',
    other: 'The request was refused.',
    ours: 'The fault was on our side. Nothing is wrong with the request; send it again.',
  },
};
