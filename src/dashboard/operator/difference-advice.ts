import { DifferenceKind } from '../../gen/gatehouse/v1/reconciliation_service_pb.js';
import type { Difference } from '../../gen/gatehouse/v1/reconciliation_service_pb.js';
import type { DifferenceAdvice } from '../language/english/operator.ts';

/** The action that a difference requires, by its facts. */
export function adviceOn(difference: Difference): DifferenceAdvice {
  const { kind, strayPaymentId, paymentAttemptId } = difference;
  switch (kind) {
    case DifferenceKind.UNREADABLE:
      return 'readAtWallet';
    case DifferenceKind.MISSING_IN_STATEMENT:
      return strayPaymentId === '' ? 'askForPayment' : 'askForStray';
    case DifferenceKind.MISSING_HERE:
      return paymentAttemptId === '' ? 'whoseIsIt' : 'secondCharge';
    case DifferenceKind.AMOUNT_DIFFERS:
      return 'whichIsRight';
    default:
      return adviceOnStatus(difference);
  }
}

function adviceOnStatus({ strayPaymentId, ourStatus, walletStatus }: Difference): DifferenceAdvice {
  const hasMoved = walletStatus === 'completed' || walletStatus === 'reversed';
  if (strayPaymentId !== '')
    return ourStatus === 'reversal_refused' && hasMoved ? 'nothingLeft' : 'whatBecameOfIt';
  if (ourStatus !== 'succeeded') return 'isAskedAgain';
  return hasMoved ? 'wentBackUnasked' : 'whatBecameOfIt';
}
