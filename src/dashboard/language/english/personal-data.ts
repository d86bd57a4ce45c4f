import { counted } from '../../../contract/counted.ts';

/** The page on which operators erase the personal data of a customer. */
export const personalData = {
  title: 'Personal data',
  lead: 'Erase the phone number of a customer who asks for it, with the reasons and wallet answers of the customer’s orders. Amounts, times and states stay.',
  form: {
    title: 'Erase a phone number',
    phone: 'Phone number',
    phoneHint: 'Such as 0911223344, or an international number with its +.',
    merchant: 'Merchant id',
    merchantHint: 'Only orders of this merchant. Leave it empty for all merchants.',
    check: 'Check',
    wrongPhone: 'Enter an Ethiopian mobile number, or an international number with its +.',
    wrongMerchant: 'Enter an id that begins with mer_ and has 30 characters.',
    unknownMerchant: 'No merchant has this id.',
  },
  confirm: {
    title: 'Erase this data?',
    warning: 'An erasure cannot be undone',
    keep: 'Keep the customer’s request outside of the gateway until all backups from before it are deleted. A restore brings the data back.',
    nothing: 'Nothing is stored about this number. It may have been erased before.',
    phone: 'Phone number',
    merchant: 'Merchant',
    orders: 'Orders',
    payments: 'Payments without an order',
    submit: 'Erase',
    edit: 'Change',
    cancel: 'Cancel',
  },
  allMerchants: 'All merchants',
  done: (orders: number, payments: number) =>
    `The request is recorded. It concerns ${counted(orders, 'order')} and ${counted(payments, 'payment')} without an order.`,
  requests: {
    title: 'Requests',
    empty: 'No requests yet.',
    columns: { when: 'When', by: 'By', merchant: 'Merchant', found: 'Concerns', waiting: 'Not erased yet' },
    found: (orders: number, payments: number) =>
      `${counted(orders, 'order')}, ${counted(payments, 'payment')} without an order`,
    none: 'None',
    more: (count: number) => `and ${count} more`,
    payments: (count: number) =>
      `${counted(count, 'payment')} without an order: erased when the wallet has decided each payment, and has returned the money that is due`,
  },
  obstacles: {
    notTried: 'Erased in a few seconds',
    orderOpen: 'Erased when the order has ended',
    paymentOpen: 'Erased when the wallet has decided the payment',
    refundOpen: 'Erased when the refund has ended',
    strayOpen: 'Erased when the stray payment is returned',
    settlementOpen: 'Erased when the settlement is decided',
    notSealed: 'Erased when its events are sealed, in a few seconds',
    eventChanged: 'Not erased, because an event differs from its seal. Run gatehouse audit verify',
    brokerUnavailable: 'Erased in the database, and in the broker when it is available again',
    failed: 'Failed, and tried again. The log of core has the reason',
    lateCopies: 'Erased. Copies in transit are erased in two minutes',
  },
};
