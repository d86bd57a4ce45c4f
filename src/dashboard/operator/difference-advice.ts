import { DifferenceKind } from '../../gen/gatehouse/v1/reconciliation_service_pb.js';
import type { Difference } from '../../gen/gatehouse/v1/reconciliation_service_pb.js';
import type { DifferenceAdvice } from '../language/english/operator-reconciliation.ts';

/** The action that a difference requires, by its facts. */
export function adviceOn(difference: Difference): DifferenceAdvice {
  const { kind, strayPaymentId, paymentAttemptId, refundId } = difference;
  switch (kind) {
    case DifferenceKind.UNREADABLE:
      return 'readAtWallet';
    case DifferenceKind.MISSING_IN_STATEMENT:
      if (refundId !== '') return 'askForRefund';
      return strayPaymentId === '' ? 'askForPayment' : 'askForStray';
    case DifferenceKind.MISSING_HERE:
      return paymentAttemptId === '' ? 'askForOwner' : 'secondCharge';
    case DifferenceKind.OTHER_ACCOUNT:
      return 'askForAccount';
    case DifferenceKind.AMOUNT_DIFFERS:
      return 'askForAmount';
    default:
      return adviceOnStatus(difference);
  }
}

function adviceOnStatus({ strayPaymentId, refundId, ourStatus, walletStatus }: Difference): DifferenceAdvice {
  if (refundId !== '') return ourStatus === 'reversal_refused' ? 'failedButReturned' : 'queriedAgain';
  const hasMoved = walletStatus === 'completed' || walletStatus === 'reversed';
  if (strayPaymentId !== '')
    return ourStatus === 'reversal_refused' && hasMoved ? 'nothingLeft' : 'askForOutcome';
  if (ourStatus !== 'succeeded') return 'queriedAgain';
  return hasMoved ? 'returnedWithoutRefund' : 'askForOutcome';
}
