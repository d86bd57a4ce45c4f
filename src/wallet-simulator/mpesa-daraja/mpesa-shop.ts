import { createHash, constants, privateDecrypt } from 'node:crypto';
import { formatAmount } from '../amount.ts';
import { createPayments } from '../payments.ts';
import type { Payment } from '../payment.ts';
import type { Payments } from '../payments.ts';
import type { WalletContext } from '../simulated-wallet.ts';
import { textOf } from './mpesa-body.ts';
import type { MpesaCredentials } from './mpesa-credentials.ts';
import type { MpesaDialect } from './mpesa-dialect.ts';
import type { MpesaOutcome } from './mpesa-outcomes.ts';
import { codes, outcomeOfNumber, resultTexts } from './mpesa-outcomes.ts';
import { compactTime, dottedTime } from './mpesa-time.ts';

/** A simulated M-Pesa organisation: its payments, and the messages about them. */
export interface MpesaShop {
  readonly context: WalletContext;
  readonly dialect: MpesaDialect;
  readonly credentials: MpesaCredentials;
  readonly payments: Payments;
  readonly outcomeOf: (msisdn: string) => MpesaOutcome | undefined;
  /** All payments, newest first. */
  readonly list: () => readonly Payment[];
  readonly byReceipt: (receipt: string) => Payment | undefined;
  readonly newReceipt: () => string;
  readonly newId: (prefix: string) => string;
  /** Posts a message. Returns the status of the answer, or the reason of a failure. */
  readonly post: (
    url: string,
    message: object,
  ) => Promise<{ readonly status: number | string; readonly text: string }>;
  /** Whether the body of an initiator's request has the right name and the right encrypted password. */
  readonly isInitiator: (name: string, credential: string) => boolean;
  /** Where confirmations of payments go, as the latest registration says; undefined before the first. */
  readonly urls: () => RegisteredUrls | undefined;
  readonly registerUrls: (urls: RegisteredUrls) => void;
}

export interface RegisteredUrls {
  readonly confirmation: string;
  readonly validation: string;
  /** Whether payments are taken that the validation does not answer in time. */
  readonly completes: boolean;
}

export function createMpesaShop(
  context: WalletContext,
  dialect: MpesaDialect,
  credentials: MpesaCredentials,
): MpesaShop {
  const { ledger, journal, delaysMs, after, now, newUuid, randomBytes } = context;
  const outcomeOf = (msisdn: string) => outcomeOfNumber(dialect.countryCode, msisdn);

  const post: MpesaShop['post'] = async (url, message) => {
    try {
      const response = await fetch(url, {
        method: 'POST',
        body: JSON.stringify(message),
        redirect: 'manual',
        headers: { 'content-type': 'application/json' },
        signal: AbortSignal.any([context.closing, AbortSignal.timeout(context.callbackTimeoutMs)]),
      });
      return { status: response.status, text: await response.text() };
    } catch (error) {
      return { status: reasonOf(error), text: '' };
    }
  };

  async function callBack(payment: Payment, tells: 'truth' | 'failure' | 'forged'): Promise<number | string> {
    if (payment.kind === 'refund' && isResultLost(payment)) return 'lost';
    if (payment.callbackUrl === undefined) return 'lost';
    const message = messageAbout(payment, tells);
    const { status } = await post(payment.callbackUrl, message);
    if (payment.kind === 'payment' && tells === 'truth') await confirm(payment);
    return status;
  }

  /** The receipts of the confirmed payments, because each is confirmed once. */
  const confirmed = new Set<string>();
  async function confirm(payment: Payment): Promise<void> {
    const urls = shop.urls();
    if (urls === undefined || payment.state.status !== 'completed' || confirmed.has(payment.id)) return;
    confirmed.add(payment.id);
    await post(urls.confirmation, confirmationMessage(payment, credentials.short_code));
  }

  const isResultLost = (reversal: Payment): boolean =>
    outcomeOf(reversal.payer)?.quirk === 'reversal_result_lost';

  const payments = createPayments({
    wallet: context.id,
    ledger,
    journal,
    delaysMs,
    after,
    now,
    newUuid,
    outcomeOf,
    codes,
    callBack,
    shownStatus: (payment) => resultTexts[resultCode(payment)] ?? resultCode(payment),
  });
  const list = (): readonly Payment[] => payments.newestFirst();

  const shop: MpesaShop = {
    context,
    dialect,
    credentials,
    payments,
    outcomeOf,
    list,
    byReceipt: (receipt) => list().find(({ reference }) => reference === receipt),
    newReceipt: () => receiptOf(randomBytes(16)),
    newId: (prefix) => `${prefix}${randomBytes(10).toString('hex')}`,
    post,
    isInitiator: (name, credential) =>
      name === credentials.initiator_name &&
      isPassword(credentials, decrypt(credentials.security_key, credential) ?? ''),
    // The provider keeps a registration for ever.
    urls() {
      const { confirmation, validation, completes } = payments.kept() ?? {};
      if (confirmation === undefined || validation === undefined) return undefined;
      return { confirmation, validation, completes: completes === 'true' };
    },
    registerUrls: ({ completes, ...urls }) => payments.keep({ ...urls, completes: String(completes) }),
  };
  return shop;
}

const receiptLetters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';

/** Ten letters and digits. */
const receiptOf = (bytes: Buffer): string =>
  [...createHash('sha256').update(bytes).digest().subarray(0, 10)]
    .map((byte) => receiptLetters[byte % receiptLetters.length])
    .join('');

/** Some client libraries append the time to the password, `YYYYMMDDHHmmss`. */
const isPassword = ({ initiator_password: password }: MpesaCredentials, given: string): boolean =>
  given === password || (given.startsWith(password) && /^[0-9]{14}$/.test(given.slice(password.length)));

function decrypt(securityKey: string, credential: string): string | undefined {
  try {
    const padding = constants.RSA_PKCS1_PADDING;
    return privateDecrypt({ key: securityKey, padding }, Buffer.from(credential, 'base64')).toString();
  } catch {
    return undefined;
  }
}

/** The result code that a query returns. */
export function resultCode({ state, outcome }: Payment): string {
  if (state.status === 'completed') return '0';
  if (state.status === 'failed') return state.code;
  return outcome.ending.status === 'open' ? (outcome.ending.shownAs ?? '4999') : '4999';
}

/** The amount in the currency, as a JSON number. */
const amountOf = ({ amount }: Payment): number => Number(formatAmount(amount));

const detail = (payment: Payment, name: string): string => textOf(payment.details, name);

function messageAbout(payment: Payment, tells: 'truth' | 'failure' | 'forged'): object {
  switch (payment.kind) {
    case 'payment':
      return pushCallback(payment, tells);
    case 'refund':
      return reversalResult(payment);
    case 'payout':
      return payoutResult(payment);
  }
}

/** The callback of a payment request. */
function pushCallback(payment: Payment, tells: 'truth' | 'failure' | 'forged'): object {
  const code = { truth: resultCode(payment), failure: codes.declined, forged: '0' }[tells];
  const items = [
    { Name: 'Amount', Value: amountOf(payment) },
    { Name: 'MpesaReceiptNumber', Value: payment.reference },
    { Name: 'Balance' },
    { Name: 'TransactionDate', Value: Number(compactTime(payment.endedAt ?? payment.createdAt)) },
    { Name: 'PhoneNumber', Value: Number(payment.payer) },
  ];
  return {
    Body: {
      stkCallback: {
        MerchantRequestID: detail(payment, 'merchantRequestId'),
        CheckoutRequestID: payment.requestId,
        ResultCode: Number(code),
        ResultDesc: resultTexts[code] ?? '',
        ...(code === '0' ? { CallbackMetadata: { Item: items } } : {}),
      },
    },
  };
}

/** The message before and after a payment from the menu, and after every other payment. */
export const confirmationMessage = (payment: Payment, shortCode: string): object => ({
  TransactionType: detail(payment, 'command') === 'CustomerBuyGoodsOnline' ? 'Buy Goods' : 'Pay Bill',
  TransID: payment.reference,
  TransTime: compactTime(payment.createdAt),
  TransAmount: amountOf(payment).toFixed(2),
  BusinessShortCode: shortCode,
  BillRefNumber: payment.merchantReference,
  InvoiceNumber: '',
  OrgAccountBalance: '',
  ThirdPartyTransID: '',
  MSISDN: `${payment.payer.slice(0, 4)} ***** ${payment.payer.slice(-3)}`,
  FirstName: 'DEMO',
  MiddleName: '',
  LastName: 'PAYER',
});

/** The codes with which a reversal fails. */
const reversalCodes: Readonly<Record<string, readonly [number | string, string]>> = {
  NOT_ENOUGH_FUNDS: [1, 'The balance is insufficient for the transaction.'],
  INVALID_STATE: [11, 'The DebitParty is in an invalid state.'],
  ALREADY_REVERSED: ['R000001', 'The transaction has already been reversed.'],
  INVALID_ID: ['R000002', 'The OriginalTransactionID is invalid.'],
  WRONG_INITIATOR: [2001, 'The initiator information is invalid.'],
};

/** The result of a reversal. */
function reversalResult(reversal: Payment): object {
  const code = reversal.state.status === 'failed' ? reversal.state.code : '';
  const parameters = [
    { Key: 'DebitAccountBalance', Value: `Utility Account|${reversal.currency}|0.00|0.00|0.00|0.00` },
    { Key: 'Amount', Value: amountOf(reversal) },
    { Key: 'TransCompletedTime', Value: Number(compactTime(reversal.endedAt ?? reversal.createdAt)) },
    { Key: 'OriginalTransactionID', Value: detail(reversal, 'receipt') },
    { Key: 'Charge', Value: 0 },
    { Key: 'CreditPartyPublicName', Value: `${reversal.payer} - ` },
  ];
  return result(reversal.requestId, detail(reversal, 'conversationId'), {
    ...refusal(code),
    transaction: reversal.reference,
    ...(code === '' ? { parameters } : {}),
  });
}

/** The result of a payout. */
function payoutResult(payout: Payment): object {
  const { state, reference, payer } = payout;
  const parameters = [
    { Key: 'TransactionAmount', Value: amountOf(payout) },
    { Key: 'TransactionReceipt', Value: reference },
    { Key: 'B2CRecipientIsRegisteredCustomer', Value: 'Y' },
    { Key: 'B2CChargesPaidAccountAvailableFunds', Value: 0 },
    { Key: 'ReceiverPartyPublicName', Value: `${payer} - Demo payer` },
    { Key: 'TransactionCompletedDateTime', Value: dottedTime(payout.endedAt ?? payout.createdAt) },
    { Key: 'B2CUtilityAccountAvailableFunds', Value: 0 },
    { Key: 'B2CWorkingAccountAvailableFunds', Value: 0 },
  ];
  const isDone = state.status === 'completed';
  const code = isDone ? '0' : resultCode(payout);
  return result(payout.requestId, detail(payout, 'conversationId'), {
    code: Number(code),
    text: resultTexts[code] ?? '',
    transaction: reference,
    ...(isDone ? { parameters } : {}),
  });
}

export function refusal(name: string): { readonly code: number | string; readonly text: string } {
  const [code, text] = reversalCodes[name] ?? [0, 'The service request is processed successfully.'];
  return { code, text };
}

/** A result as M-Pesa posts it. */
export const result = (
  originatorConversationId: string,
  conversationId: string,
  content: {
    readonly code: number | string;
    readonly text: string;
    readonly transaction: string;
    readonly parameters?: readonly object[];
  },
): object => ({
  Result: {
    ResultType: 0,
    ResultCode: content.code,
    ResultDesc: content.text,
    OriginatorConversationID: originatorConversationId,
    ConversationID: conversationId,
    TransactionID: content.transaction,
    ...(content.parameters === undefined
      ? {}
      : { ResultParameters: { ResultParameter: content.parameters } }),
    ReferenceData: {
      ReferenceItem: { Key: 'QueueTimeoutURL', Value: 'https://internal.example/results/v1/submit' },
    },
  },
});

/** The answer to a status query about a payment or a reversal. */
export function statusParameters(
  payment: Payment,
  ids: readonly [string, string],
  shortCode: string,
): object[] {
  const { state, payer, reference, endedAt, createdAt } = payment;
  const status =
    state.status === 'completed'
      ? 'Completed'
      : state.status === 'open'
        ? 'Initiated'
        : state.code === codes.declined
          ? 'Cancelled'
          : state.code === codes.expired
            ? 'Expired'
            : 'Declined';
  const [debit, credit] =
    payment.kind === 'payment'
      ? [`${payer} - `, `${shortCode} - Demo shop`]
      : [`${shortCode} - Demo shop`, `${payer} - `];
  return [
    { Key: 'DebitPartyName', Value: debit },
    { Key: 'CreditPartyName', Value: credit },
    { Key: 'OriginatorConversationID', Value: ids[0] },
    { Key: 'InitiatedTime', Value: Number(compactTime(createdAt)) },
    { Key: 'DebitAccountType', Value: 'MMF Account For Customer' },
    { Key: 'DebitPartyCharges' },
    { Key: 'TransactionReason' },
    { Key: 'ReasonType', Value: 'Pay Bill Online' },
    { Key: 'TransactionStatus', Value: status },
    { Key: 'FinalisedTime', Value: Number(compactTime(endedAt ?? createdAt)) },
    { Key: 'Amount', Value: amountOf(payment) },
    { Key: 'ConversationID', Value: ids[1] },
    { Key: 'ReceiptNo', Value: reference },
  ];
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message : error.message;
}
