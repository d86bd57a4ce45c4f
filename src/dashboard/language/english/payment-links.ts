import { counted } from '../../../contract/counted.ts';

/** The pages of payment links and QR codes. */
export const paymentLinks = {
  title: 'Payment links',
  lead: 'A payment link or a QR code collects one payment. Send the link, or let your customer scan the code.',
  make: 'Create a payment link',
  empty: {
    title: 'No payment links yet',
    body: 'Create a link, so that your customer can pay with it.',
    byOthers: 'Owners and developers create them.',
  },
  noOlder: 'There are no older payment links.',
  form: {
    title: 'New payment link',
    amount: 'Amount',
    amountHint: 'Such as 1500 or 99.50, without thousands separators.',
    currency: 'Currency',
    reason: 'Reason for the payment',
    reasonHint: 'Your customer sees it before paying.',
    type: 'How your customer gets it',
    types: { LINK: 'As a link', QR: 'As a QR code to scan' },
    lifetime: 'Time to pay',
    lifetimes: {
      '1800': '30 minutes',
      '7200': '2 hours',
      '86400': '1 day',
      '604800': '7 days',
      '2592000': '30 days',
    },
    number: 'Order number',
    numberHint: 'Your own reference. Gatehouse suggests one. You can change it.',
    phone: 'Customer’s phone (optional)',
    phoneHint: 'If you leave it empty, your customer enters it when paying.',
    submit: 'Create the link',
    wrong: 'Correct the fields marked below',
    issues: {
      currency: 'Enter a currency that can be paid here, such as ETB.',
      reason: 'Enter at most 255 characters, on one line.',
      order_number:
        'Enter at most 64 letters, digits or signs, without spaces. Another order must not have this number.',
      customer_phone: 'Enter a phone number such as 0911223344, or leave it empty.',
    },
    aboveLimit: (limit: string) =>
      `Enter at most ${limit}. This is the limit for one order of this merchant.`,
    outOfRange: (ranges: string) => `Enter an amount that your wallets take: ${ranges}.`,
    or: ', or ',
    noDecimals: (currency: string) => `Enter a whole amount. Your wallets take no decimals in ${currency}.`,
    fewerDecimals: (maxDecimals: number, currency: string) =>
      `Enter at most ${counted(maxDecimals, 'decimal')} in ${currency}, such as 99.${'5'.padEnd(maxDecimals, '0')}.`,
    allWalletsOff:
      'All wallets of this environment are off, so nobody can pay. An owner can switch one on under Wallets.',
    noWalletTakes: (currency: string) =>
      `None of your wallets takes ${currency}. Choose another currency, or ask the operator.`,
    suspended: 'The merchant is suspended, so no orders can be registered. Contact the operator.',
    notActivated: 'Production is not activated yet. Ask the operator.',
  },
  made: 'The payment link is created.',
  share: {
    title: 'Share it',
    link: 'Link',
    qr: (number: string) => `QR code of the payment link ${number}`,
    svg: 'Download as SVG',
    png: 'Download as PNG',
    print: 'Print',
    hidden:
      'Only owners and developers of the merchant see the link, because it can pay or cancel the order.',
    once: 'Only the first person who starts to pay can pay it.',
  },
  expires: 'Can be paid until',
  cancel: {
    open: 'Cancel the link',
    body: 'The link can no longer be paid. This cannot be undone.',
    submit: 'Cancel permanently',
  },
  live: 'This page updates by itself.',
  over: {
    completed: 'The link is paid.',
    failed: 'The link can no longer be paid.',
    expired: 'The link has expired.',
  },
  order: 'The history of the order',
  reload: 'Refresh',
};
