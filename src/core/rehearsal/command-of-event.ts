import type { OrderEvent as OrderEventMessage } from '../../gen/gatehouse/v1/order_pb.js';
import { Money } from '../domain/money.ts';
import { commandTypes } from '../domain/order.ts';
import type { CommandType, OrderInFull, PaymentAttempt } from '../domain/order.ts';
import type { Command } from '../domain/transition.ts';
import { attemptStatusOf, eventTypeOf } from '../rpc/order-messages.ts';
import { originOf } from '../payments/changes/lost-order.ts';
import { requireKnown, pastAfter } from './order-past.ts';

/**
 * The command that caused an event of `transition`. Events since the release that records decisions name it. For earlier ones it
 * is derived where only one command can have caused the event; undefined otherwise.
 * @throws TypeError for a value that this version does not know
 */
export function commandOf(event: OrderEventMessage, before: OrderInFull): Command | undefined {
  const type = event.decision === undefined ? derivedType(event, before) : recordedType(event.decision);
  switch (type) {
    case undefined:
      return undefined;
    case 'cancel':
    case 'expire':
      return { type };
    case 'start_payment': {
      const { id: attemptId, paymentOption, phone: e164 } = attemptOf(event);
      const asGiven = event.order?.customerPhone ?? '';
      return { type, attemptId, origin: originOf(event), paymentOption, phone: { asGiven, e164 } };
    }
    case 'receive_payment': {
      const { id: attemptId, paymentOption } = attemptOf(event);
      return { type, attemptId, paymentOption, debited: debitedIn(event, before) };
    }
    case 'confirm_attempt':
      return { type, attemptId: attemptOf(event).id, debited: debitedIn(event, before) };
    case 'decline_attempt': {
      const { id: attemptId, declineReason } = attemptOf(event);
      return { type, attemptId, reason: requireKnown(declineReason ?? undefined, 'decline_reason') };
    }
    case 'send_attempt':
    case 'lose_attempt':
    case 'time_out_attempt':
      return { type, attemptId: attemptOf(event).id };
  }
}

function recordedType({ command }: { readonly command: string }): CommandType {
  return requireKnown(
    commandTypes.find((each) => each === command),
    'command',
  );
}

function derivedType(
  { type, paymentAttempt }: OrderEventMessage,
  before: OrderInFull,
): CommandType | undefined {
  const attemptStatus = paymentAttempt && attemptStatusOf(paymentAttempt.status);
  switch (eventTypeOf(type)) {
    case 'PAYMENT_STARTED':
      return 'start_payment';
    case 'COMPLETED':
      return before.latestAttempt?.id === paymentAttempt?.paymentAttemptId
        ? 'confirm_attempt'
        : 'receive_payment';
    case 'EXPIRED':
      return 'expire';
    case 'PAYMENT_DECLINED':
      // An attempt that timed out did so at the wallet, or because money of an earlier attempt was found.
      return attemptStatus === 'DECLINED' ? 'decline_attempt' : undefined;
    case 'FAILED':
      if (attemptStatus === undefined) return 'cancel';
      return attemptStatus === 'DECLINED' ? 'decline_attempt' : undefined;
    default:
      return undefined;
  }
}

const attemptOf = (event: OrderEventMessage): PaymentAttempt =>
  requireKnown(pastAfter(event, undefined).attempts[0], 'payment_attempt');

function debitedIn(event: OrderEventMessage, { amount }: OrderInFull): Money {
  const debited = Money.parse(event.order?.deducted ?? '', 'deducted', amount.currency);
  return requireKnown(debited.ok ? debited.value : undefined, 'deducted');
}
