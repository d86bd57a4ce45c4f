import { PaymentOption } from '../../gen/gatehouse/v1/order_pb.js';
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
  },
  pay: {
    title: (amount, shop) => `Pay ${amount} to ${shop}`,
    chooseWallet: 'How do you want to pay?',
    phoneHint: 'The number your wallet is registered with, such as 0911 22 33 44',
    submit: (amount) => `Pay ${amount}`,
    submitting: 'One moment…',
    attemptsLeft: (count) => (count === 1 ? 'This is your last try.' : `You can try ${count} more times.`),
    phoneMissing: 'Enter the mobile number your wallet is registered with.',
    phoneInvalid: 'This does not look like a mobile number. Enter it like 0911 22 33 44.',
    optionMissing: 'Choose how you want to pay.',
    optionUnavailable: 'This way to pay is not available right now. Choose another one.',
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
    [PaymentOption.WALLETA_WALLET]: {
      name: 'Wallet A app',
      hint: 'Confirm in the Wallet A app on your phone',
    },
    [PaymentOption.WALLETA_USSD]: {
      name: 'Wallet A without internet',
      hint: 'A message asks for your PIN (USSD); any phone will do',
    },
    [PaymentOption.WALLETB_USSD]: {
      name: 'Wallet B without internet',
      hint: 'A message asks for your PIN (USSD); any phone will do',
    },
  },
  wallets: {
    [PaymentOption.WALLETA_WALLET]: 'Wallet A',
    [PaymentOption.WALLETA_USSD]: 'Wallet A',
    [PaymentOption.WALLETB_USSD]: 'Wallet B',
  },
  confirm: {
    title: 'Confirm on your phone',
    sentTo: (phone) => `A payment request is on its way to ${phone}.`,
    how: {
      [PaymentOption.WALLETA_WALLET]: (amount) =>
        `Open the Wallet A app on that phone and approve ${amount}.`,
      [PaymentOption.WALLETA_USSD]: (amount) => `Enter your Wallet A PIN on that phone to approve ${amount}.`,
      [PaymentOption.WALLETB_USSD]: (amount) => `Enter your Wallet B PIN on that phone to approve ${amount}.`,
    },
    following: 'This page tells you as soon as the payment has gone through. Please keep it open.',
    slow: (wallet) =>
      `This is taking longer than usual. We are asking ${wallet} what became of your payment. ` +
      'Please do not pay in another way meanwhile: you will not be charged twice.',
    offline: 'No connection at the moment. Your payment is not affected; we keep looking.',
    lookAgain: 'Look again',
    stopLooking: 'Stop this page from reloading',
  },
  paid: {
    title: 'Payment received',
    body: (amount, shop) => `You have paid ${amount} to ${shop}.`,
  },
  failed: {
    title: 'The payment did not go through',
    body: 'None of the tries succeeded, and nothing was paid. To try once more, start again from the shop.',
  },
  cancelled: {
    title: 'Payment cancelled',
    body: 'This payment was cancelled. Nothing was paid.',
  },
  expired: {
    title: 'The time to pay has run out',
    body: 'Nothing was paid. To pay after all, start again from the shop.',
  },
  inUse: {
    title: 'Already open in another browser',
    body:
      'This payment was started in another browser or on another device. Please go on there. ' +
      'If you did start it here, this browser may be refusing cookies: allow them, and look again.',
  },
  unknownLink: {
    title: 'We do not know this link',
    body: 'It may be incomplete, or too old. Go back to the shop and start the payment from there.',
  },
  unavailable: {
    title: 'We cannot reach our payment system right now',
    body:
      'Please try again in a moment. If you have just pressed “Pay”, your payment may already be on its way: ' +
      'look again before you do anything else.',
  },
  tooManyRequests: {
    title: 'Too many unknown links',
    body: 'Please wait a minute, then go back to the shop and start the payment from there.',
  },
  foreignForm: {
    title: 'This did not come from our page',
    body: 'For your safety we accept payments only from this page itself, and have done nothing. Open the payment and try again.',
  },
  badRequest: {
    title: 'We could not read that',
    body: 'We have done nothing. Open the payment and try again.',
  },
  toPayment: 'Open the payment',
  backTo: (shop) => `Back to ${shop}`,
  returning: { before: 'Taking you back to the shop in', after: 'seconds.' },
  stay: 'Stay on this page',
  closePage: 'You can close this page.',
  refused: {
    title: 'That did not work; nothing was paid',
    why: {
      insufficient_funds:
        'There is not enough money in your wallet. Top it up, or choose another wallet, and try again.',
      wrong_pin: 'The PIN was not right. Please try again.',
      declined_by_payer: 'The payment was declined on your phone. You can try again if that was a mistake.',
      payer_not_found:
        'This number has no account with the wallet you chose. Check the number, or choose another wallet.',
      limit_exceeded:
        'This payment goes beyond a limit of your wallet. Try another wallet, or ask your wallet.',
      account_state: 'This wallet account cannot pay at the moment. Use another wallet, or ask your wallet.',
      payer_busy: 'Your phone was busy with another request. Finish that one, then try again.',
      timed_out: 'Nobody confirmed on the phone in time. Keep the phone at hand and try again.',
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
  correctForm: 'Please correct what is marked below',
};
