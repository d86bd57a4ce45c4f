import type { Messages } from './messages.ts';

export const english: Messages = {
  languageName: 'English',
  switchLabel: 'Language',
  poweredBy: 'Secure payment by Gatehouse',
  testPayment: 'Test payment: no real money moves',
  byMerchant: (merchant) => `a business of ${merchant}`,
  labels: {
    amount: 'Amount',
    payee: 'Paid to',
    reason: 'For',
    reference: 'Order number',
    timeLeft: 'Time left to pay',
    wallet: 'Paid with',
    phone: 'Mobile number',
    paidAt: 'Date and time',
    walletReference: 'Wallet reference',
    refunded: 'Refunded',
  },
  pay: {
    title: (amount, shop) => `Pay ${amount} to ${shop}`,
    chooseWallet: 'How do you want to pay?',
    phoneHint: 'The number of your wallet, such as 0911\u00a022\u00a033\u00a044',
    foreignPhoneHint: (start) => `The number of your wallet with its country code: ${start}`,
    submit: (amount) => `Pay ${amount}`,
    submitting: 'One moment…',
    offline:
      'No connection at the moment. Nothing was sent. When you are connected again, press the button once more.',
    attemptsLeft: (count) =>
      count === 1 ? 'This is your last attempt.' : `You have ${count} more attempts.`,
    phoneMissing: 'Enter the mobile number your wallet is registered with.',
    phoneInvalid: 'This does not look like a mobile number. Enter it like 0911\u00a022\u00a033\u00a044.',
    foreignPhoneInvalid: (start) => `Enter the mobile number with its country code: ${start}`,
    optionMissing: 'Choose how you want to pay.',
    optionUnavailable: 'This way to pay is not available right now. Choose another one.',
    noOption: 'No wallet can take this payment at the moment. Please contact the shop, or try again later.',
  },
  paybill: {
    open: (wallet) => `Pay from the ${wallet} menu instead`,
    body: (wallet) => `Choose Pay Bill in the ${wallet} menu of your phone, and enter exactly this:`,
    number: 'Business number',
    account: 'Account number',
    after: 'Pay only once: here, or in the menu. After you have paid in the menu, check this page again.',
  },
  cancel: {
    open: 'Cancel this payment',
    body: 'The order will not be paid, and this link cannot be used again.',
    confirm: 'Yes, cancel the payment',
  },
  otherDevice: {
    open: 'Continue on another device',
    body: 'Scan this code with the camera of the phone or tablet you want to pay on.',
    alt: 'QR code with the address of this page',
  },
  options: {
    wallet: { name: (wallet) => `${wallet} app`, hint: (wallet) => `Approve in the ${wallet} app` },
    ussd: {
      name: (wallet) => `${wallet} without internet`,
      hint: () => 'Asks for your PIN (USSD), on any phone',
    },
  },
  confirm: {
    title: 'Confirm on your phone',
    waitOn: (phone) => `Wait for the payment request on ${phone}. It usually arrives within a few seconds.`,
    how: {
      wallet: (amount, wallet) => `Open the ${wallet} app on that phone and approve ${amount}.`,
      ussd: (amount, wallet) => `Enter your ${wallet} PIN on that phone to approve ${amount}.`,
    },
    open: {
      title: (wallet) => `Pay with ${wallet}`,
      soon: (wallet) => `The link to ${wallet} usually appears here within a few seconds.`,
      how: (amount, wallet) =>
        `Continue to ${wallet} and approve ${amount} there. Then you come back to this page.`,
      button: (wallet) => `Continue to ${wallet}`,
      scan: (wallet) => `Scan this code with the ${wallet} app.`,
      codeAlt: (wallet) => `QR code for the ${wallet} app`,
    },
    next: 'You have about 3 minutes. This page then shows the result.',
    wayOut: {
      open: 'Wrong number, or changed your mind?',
      unsent: 'You can cancel until we send the request to your wallet, usually within a few seconds.',
      sent: (phone) =>
        `A request that was sent cannot be cancelled here. Decline it on ${phone}, or wait: without a confirmation it ends ` +
        'after about 3 minutes, and nothing is paid. This page then lets you use another number or wallet.',
      opened: (wallet) =>
        `A started payment cannot be cancelled here. Do not confirm it at ${wallet}, and wait. ` +
        `It ends without a payment when the time limit of ${wallet} is over.`,
      slow: (wallet) =>
        `You cannot cancel while ${wallet} may still take the money. If nothing was paid, this page lets you try ` +
        'again, with another number if you like.',
    },
    following: 'This page updates by itself. Please keep it open.',
    slow: (wallet) =>
      `This is taking longer than usual. We are asking ${wallet} for the result of your payment. ` +
      'Please do not pay in another way meanwhile.',
    unsent: (wallet) =>
      `We could not send the request to ${wallet} yet, and keep trying. Nothing was paid. You can wait, or cancel below.`,
    offline: 'No connection at the moment. Your payment is not affected. This page keeps trying.',
    stopLooking: 'Stop this page from reloading',
  },
  paid: {
    title: 'Payment received',
    body: (amount, shop) => `You have paid ${amount} to ${shop}.`,
    bodyElsewhere: (amount, shop) => `${amount} was paid to ${shop}.`,
  },
  failed: {
    title: 'The payment did not go through',
    body: 'None of your attempts succeeded, and nothing was paid. To try again, go back to the shop and start a new payment.',
  },
  cancelled: {
    title: 'Payment cancelled',
    body: 'Nothing was paid.',
  },
  expired: {
    title: 'The time to pay has run out',
    body: 'Nothing was paid. If you still want to pay, go back to the shop and start a new payment.',
  },
  checking: {
    title: 'Your payment is being checked',
    body: 'We are checking whether this order was paid. Please do not pay again until this page shows the result.',
  },
  inUse: {
    title: 'Already open in another browser',
    body:
      'This payment was started in another browser or on another device. Please continue there. ' +
      'If you started it here, this browser may block cookies. Allow them, and check again.',
  },
  unknownLink: {
    title: 'We do not know this link',
    body: 'It may be incomplete, or too old. Go back to the shop and start the payment from there.',
  },
  unavailable: {
    title: 'We cannot reach our payment system right now',
    body:
      'Please try again in a moment. If you have just pressed “Pay”, your payment may already be on its way: ' +
      'check again before you do anything else.',
  },
  tooManyPayments: {
    title: 'This payment was tried too often',
    body: (wait) => `No payment was started now. Open the payment and try again in ${wait}.`,
  },
  tooManyPaymentsOfNetwork: {
    title: 'Too many payments from your internet connection',
    body: (wait) =>
      `No payment was started now. Open the payment and try again in ${wait}, or use another internet connection, such as mobile data.`,
  },
  tooManyRequests: {
    title: 'Too many unknown links',
    body: 'Please wait a minute, then go back to the shop and start the payment from there.',
  },
  foreignForm: {
    title: 'This request did not come from our page',
    body: 'For your safety we accept payments only from this page itself, and have done nothing. Open the payment and try again.',
  },
  badRequest: {
    title: 'We could not read that',
    body: 'We have done nothing. Open the payment and try again.',
  },
  checkAgain: 'Check again',
  print: 'Print the receipt',
  contact: (shop) => `Questions? Contact ${shop}:`,
  toPayment: 'Open the payment',
  backTo: (shop) => `Back to ${shop}`,
  returning: { before: 'Taking you back to the shop in', after: 'seconds.' },
  stay: 'Stay on this page',
  closePage: 'You can close this page.',
  refused: {
    title: 'This payment did not go through; nothing was paid',
    why: {
      insufficient_funds:
        'There is not enough money in your wallet. Top it up, or choose another wallet, and try again.',
      wrong_pin: 'The PIN was not right. Please try again.',
      declined_by_payer: 'The payment was declined on your phone. You can try again if that was a mistake.',
      payer_not_found:
        'This number has no account with the wallet you chose. Check the number, or choose another wallet.',
      limit_exceeded:
        'This payment exceeds a limit of your wallet. Use another wallet, or ask your wallet provider.',
      account_state:
        'This wallet account cannot pay at the moment. Use another wallet, or ask your wallet provider.',
      payer_busy: 'Your phone was busy with another request. Finish that one, then try again.',
      wrong_amount:
        'Your wallet took a different amount from the one that this order asks for. That money is back in your wallet, so you can pay again.',
      timed_out:
        'The payment was not confirmed in time. If no request arrived on your phone, choose another wallet. Otherwise keep the phone at hand, and try again.',
      other: 'The wallet did not accept the payment. Try again, or choose another wallet.',
    },
  },
  phoneBusy: {
    title: 'This phone has another payment to confirm',
    body: (wait) =>
      `Confirm or decline that one first, then try again. If you cannot see it, try again in ${wait}, or use another number.`,
  },
  phoneLimit: {
    title: 'This phone was asked too often',
    body: (wait) =>
      `It has had several payments to confirm in a short time. Try again in ${wait}, or use another number.`,
  },
  merchantClosed: {
    title: 'This shop cannot take payments right now',
    body: 'No payment was started. Please ask the shop.',
  },
  paymentInProgress: {
    title: 'A payment is already under way',
    body: 'No second payment was started. Check again to see the one that is running.',
    shown: 'No second payment was started. This page shows the one that is running.',
  },
  tooLateToCancel: {
    title: 'It is too late to cancel here',
    body: 'The request has already been sent to your wallet. Decline it on your phone if you do not want to pay.',
    opened:
      'The payment has already been started at your wallet. Do not confirm it there if you do not want to pay.',
  },
  notPayable: {
    order_is_final: {
      title: 'This order can no longer be paid',
      body: 'Nothing was paid now. Check again to see what happened to the order.',
    },
    session_ended: {
      title: 'The time to pay has run out',
      body: 'Nothing was paid. If you still want to pay, go back to the shop and start a new payment.',
    },
    too_many_attempts: {
      title: 'This order has no attempts left',
      body: 'Nothing was paid. To try again, go back to the shop and start a new payment.',
    },
    option_not_allowed: {
      title: 'This order cannot be paid with this wallet',
      body: 'Nothing was paid. Choose another wallet and try again.',
    },
    other: {
      title: 'This order cannot be paid right now',
      body: 'No payment was started. Please ask the shop before you try again.',
    },
  },
  notReturned: {
    title: 'Your wallet took money that does not pay this order',
    returning: (taken) =>
      `Your wallet took ${taken}, which is not what this order asked for. The money is on its way back to you. ` +
      'Please do not pay in another way meanwhile: once the money is back, you can pay here.',
    refused: (taken, shop) =>
      `Your wallet took ${taken}, which is not what this order asked for, and has not sent it back. ` +
      `Please do not pay again. Contact ${shop} and give the order number below.`,
    ended: {
      returning: (taken) =>
        `This order was not paid. Your wallet took ${taken}, which is on its way back to you.`,
      refused: (taken, shop) =>
        `This order was not paid. Your wallet took ${taken} and has not sent it back. ` +
        `Contact ${shop} and give the order number below.`,
    },
  },
  correctForm: 'Please correct what is marked below',
  wrongTitle: (title) => `Error: ${title}`,
};
