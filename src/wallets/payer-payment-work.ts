import type { MessageInitShape } from '@bufbuild/protobuf';
import type { Client } from '@connectrpc/connect';
import { PayerPaymentStatus } from '../gen/gatehouse/v1/payer_payment_service_pb.js';
import type {
  LeasedPayerPayment,
  PayerPaymentService,
  RecordPayerPaymentOutcomeRequestSchema,
} from '../gen/gatehouse/v1/payer_payment_service_pb.js';
import type { Logger } from '../platform/logger.ts';
import type { CallbackTokens } from './callback-token.ts';
import type { PaymentOutcome } from './connector/outcomes.ts';
import { exchangeMessage } from './exchange-messages.ts';
import type { LeasedWork } from './lease-worker.ts';
import { payersToken } from './payer-started.ts';
import type { PayerStartedWallet } from './payer-started.ts';
import { reportToCore } from './until-core-answers.ts';
import { countsAgainstWallet, refusesCredentials } from './wallet-calls.ts';
import { leaseSeconds, workSignal } from './wallet-work.ts';

export interface PayerPaymentWorkParts extends PayerStartedWallet {
  readonly payerPayments: Client<typeof PayerPaymentService>;
  readonly tokens: CallbackTokens;
  readonly newRequestId: () => string;
  readonly logger: Logger;
  /** Aborts the calls to the wallet at shutdown. */
  readonly stop: AbortSignal;
}

/** Payments that payers of one wallet started. Each is confirmed by our own query before it counts. */
export function payerPaymentWork(parts: PayerPaymentWorkParts): LeasedWork<LeasedPayerPayment> {
  const { name, wallet, environment, connector, payerPayments, tokens, logger } = parts;
  return {
    name: `${name} payer-started payments`,
    async lease(maxPayments) {
      const request = { wallet, environment, maxPayments, lease: { seconds: leaseSeconds } };
      return { items: (await payerPayments.leasePayerPayments(request)).payments };
    },
    idsOf: ({ payerPayment }) => ({ payer_payment_id: payerPayment?.payerPaymentId }),
    async serve({ payerPayment, leaseId, providerReference, callbackNotes }, askedAtMs) {
      const { payerPaymentId = '', providerTransactionId = '' } = payerPayment ?? {};
      const requestId = parts.newRequestId();
      const { result, exchanges } = await connector.confirm(
        {
          paymentId: payerPaymentId,
          providerTransactionId,
          ...(providerReference === '' ? {} : { providerReference }),
          callbackToken: tokens.make(payersToken, payerPaymentId),
          callbackNotes,
        },
        { signal: workSignal(parts.stop, askedAtMs) },
      );
      const outcome = outcomeOf(result, providerTransactionId);
      const answer = { payerPaymentId, leaseId, outcome, exchanges: exchanges.map(exchangeMessage) };
      const recorded = await reportToCore(
        () => payerPayments.recordPayerPaymentOutcome(answer, { headers: { 'x-request-id': requestId } }),
        parts,
        { request_id: requestId, wallet: name, payer_payment_id: payerPaymentId },
      );
      logger.info(
        {
          request_id: requestId,
          wallet: name,
          payer_payment_id: payerPaymentId,
          outcome: outcome.case,
          payer_payment_status: PayerPaymentStatus[recorded.payerPayment?.status ?? 0],
        },
        'payer-started payment',
      );
      if (refusesCredentials({ result, exchanges })) return undefined;
      return result.kind !== 'unknown' || !countsAgainstWallet(result.why);
    },
  };
}

type Outcome = NonNullable<MessageInitShape<typeof RecordPayerPaymentOutcomeRequestSchema>['outcome']>;

function outcomeOf(result: PaymentOutcome, receipt: string): Outcome {
  switch (result.kind) {
    case 'pending':
      return { case: 'pending', value: { providerReference: result.providerReference ?? '' } };
    case 'completed': {
      const { providerTransactionId, amount, currency } = result;
      return providerTransactionId === receipt
        ? { case: 'completed', value: { providerTransactionId, amount, currency } }
        : unknown(`the wallet answered about transaction ${providerTransactionId}`);
    }
    case 'declined':
      return { case: 'declined', value: { reason: result.reason } };
    case 'timed_out':
      return { case: 'declined', value: {} };
    case 'unknown':
      return unknown(result.detail);
  }
}

const unknown = (detail: string): Outcome => ({ case: 'unknown', value: { detail } });
