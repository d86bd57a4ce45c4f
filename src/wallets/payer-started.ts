import { Code, ConnectError } from '@connectrpc/connect';
import type { Client } from '@connectrpc/connect';
import { channelOf } from '../contract/payment-option.ts';
import type { PaymentOption } from '../contract/payment-option.ts';
import type { Environment } from '../gen/gatehouse/v1/order_pb.js';
import { PayerPaymentDecision } from '../gen/gatehouse/v1/payer_payment_service_pb.js';
import type { PayerPaymentService } from '../gen/gatehouse/v1/payer_payment_service_pb.js';
import type { Logger } from '../platform/logger.ts';
import type { CallbackTokens } from './callback-token.ts';
import type {
  CallbackRequest,
  PayerStartedPayment,
  PayerStartedPayments,
  ValidationDecision,
  WalletConnector,
} from './connector/wallet-connector.ts';
import { exchangeMessage } from './exchange-messages.ts';
import { untilCoreAnswers } from './until-core-answers.ts';
import type { WalletSettings } from './wallet-settings.ts';

/** Stands for the merchant in tokens of URLs that belong to no merchant. */
export const payersToken = 'payers';

/** The messages about a payment: before the wallet moves the money, and after it. */
const payerStages = ['validation', 'confirmation'] as const;
export type PayerStage = (typeof payerStages)[number];

export const isPayerStage = (id: string): id is PayerStage => payerStages.some((stage) => stage === id);

/** The URLs of a wallet for payments that payers start. Their end is secret. `baseUrl` is that of the wallet's callbacks. */
export const payerStartedUrls = (baseUrl: string, tokens: CallbackTokens) => ({
  validation: `${baseUrl}/validation/${tokens.make(payersToken, 'validation')}`,
  confirmation: `${baseUrl}/confirmation/${tokens.make(payersToken, 'confirmation')}`,
});

/** A wallet in one environment that reports payments which payers started. */
export interface PayerStartedWallet {
  /** The wallet and its environment, as all log lines of `wallets` name them: "mpesa-sandbox". */
  readonly name: string;
  readonly wallet: string;
  readonly environment: Environment;
  /** The payment option under which its payments are recorded. */
  readonly paymentOption: PaymentOption;
  readonly connector: PayerStartedPayments;
}

/** The wallet, if its configuration takes payments that payers start. */
export function payerStartedWallet(
  { wallet, environment: environmentName, options, payerStarted }: WalletSettings,
  environment: Environment,
  { payerStarted: connector }: WalletConnector,
): PayerStartedWallet | undefined {
  const paymentOption = options.find((option) => channelOf(option) === 'ussd') ?? options[0];
  if (payerStarted === undefined || connector === undefined || paymentOption === undefined) return undefined;
  return { name: `${wallet}-${environmentName}`, wallet, environment, paymentOption, connector };
}

export interface PayerMessageParts {
  readonly payerPayments: Client<typeof PayerPaymentService>;
  readonly logger: Logger;
}

type Reply = { readonly status: number; readonly body: string };

/** M-Pesa waits 8 seconds for the answer to a validation. */
const validationMs = 5_000;

const decisions: Readonly<Record<PayerPaymentDecision, ValidationDecision>> = {
  [PayerPaymentDecision.UNSPECIFIED]: 'other',
  [PayerPaymentDecision.ACCEPT]: 'accept',
  [PayerPaymentDecision.UNKNOWN_REFERENCE]: 'unknown_reference',
  [PayerPaymentDecision.WRONG_AMOUNT]: 'wrong_amount',
  [PayerPaymentDecision.NOT_PAYABLE]: 'other',
};

/**
 * Answers a validation in time, whatever core does. Without an answer of core the payment is rejected, because no money has moved
 * yet and the payer can try again.
 */
export async function answerValidation(
  { payerPayments, logger }: PayerMessageParts,
  { name, wallet, environment, connector }: PayerStartedWallet,
  message: CallbackRequest,
): Promise<Reply> {
  const read = connector.parse(message);
  const decide = async (): Promise<ValidationDecision> => {
    if (read.kind === 'unreadable') {
      logger.warn(
        { wallet: name, problem: read.problem },
        'the validation request of a payment could not be read, so the payment was rejected',
      );
      return 'other';
    }
    const { reference, amount, currency, payee } = read.payment;
    if (!connector.isPayee(payee)) return 'unknown_payee';
    try {
      const { decision } = await payerPayments.validatePayerPayment(
        {
          wallet,
          environment,
          reference,
          amount,
          currency,
          paymentAttemptIdEnd: connector.attemptIdEnd(reference) ?? '',
        },
        { timeoutMs: validationMs },
      );
      return decisions[decision];
    } catch (error) {
      logger.warn(
        { err: error, wallet: name },
        'core did not validate a payment in time, so the payment was rejected',
      );
      return 'other';
    }
  };
  const decision = await decide();
  const receipt = read.kind === 'payment' ? read.payment.providerTransactionId : '';
  logger.info({ wallet: name, provider_transaction_id: receipt, decision }, 'validation');
  return connector.replyToValidation(decision);
}

/** How long a confirmation waits for core. M-Pesa does not promise to repeat it, so a restart of core must not lose it. */
const reportMs = 25_000;

/**
 * Stores a confirmed payment in core, before the message is acknowledged. The same message again changes nothing more.
 * @throws ConnectError when core did not store it; the wallet then gets no acknowledgement
 */
export async function storeConfirmation(
  { payerPayments, logger }: PayerMessageParts,
  served: PayerStartedWallet,
  message: CallbackRequest,
  acknowledgement: Reply,
): Promise<Reply> {
  const { name, wallet, environment, paymentOption, connector } = served;
  const read = connector.parse(message);
  if (read.kind === 'unreadable') {
    logger.error(
      { wallet: name, problem: read.problem },
      'the confirmation of a payment could not be read and was not stored; look the payment up at the wallet',
    );
    return { status: 400, body: '' };
  }
  const { payment } = read;
  const report = {
    wallet,
    environment,
    paymentOption,
    ...reported(payment),
    paymentAttemptIdEnd: connector.attemptIdEnd(payment.reference) ?? '',
    callbackNote: connector.noteOf(payment),
    exchange: exchangeMessage(read.exchange),
  };
  const giveUp = AbortSignal.timeout(reportMs);
  const { payerPayment } = await untilCoreAnswers(
    () => payerPayments.reportPayerPayment(report, { signal: giveUp }),
    {
      giveUp,
      isTemporary,
      onFailure: (error) =>
        logger.warn(
          { err: error, wallet: name },
          'core did not store the confirmation of a payment; trying again',
        ),
    },
  );
  const { payerPaymentId: id } = payerPayment ?? {};
  const { providerTransactionId: receipt } = payment;
  logger.info(
    { wallet: name, payer_payment_id: id, provider_transaction_id: receipt },
    'the confirmation of a payer-started payment is stored',
  );
  return acknowledgement;
}

const reported = ({ providerTransactionId, reference, payee, amount, currency }: PayerStartedPayment) => ({
  providerTransactionId,
  reference,
  payee,
  amount,
  currency,
});

const isTemporary = (error: unknown): boolean =>
  error instanceof ConnectError &&
  error.code !== Code.InvalidArgument &&
  error.code !== Code.PermissionDenied;
