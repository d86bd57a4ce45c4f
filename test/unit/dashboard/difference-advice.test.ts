import { create } from '@bufbuild/protobuf';
import { expect, test } from '@jest/globals';
import { adviceOn } from '../../../src/dashboard/operator/difference-advice.ts';
import { operator } from '../../../src/dashboard/language/amharic/operator.ts';
import { DifferenceKind, DifferenceSchema } from '../../../src/gen/gatehouse/v1/reconciliation_service_pb.js';

const attempt = { paymentAttemptId: 'pat_1' };
const refund = { paymentAttemptId: 'pat_1', refundId: 'rfd_1' };
const stray = { paymentAttemptId: 'pat_1', strayPaymentId: 'stp_1' };

test.each([
  ['readAtWallet', 'UNREADABLE', {}],
  ['askForPayment', 'MISSING_IN_STATEMENT', attempt],
  ['askForStray', 'MISSING_IN_STATEMENT', stray],
  ['askForRefund', 'MISSING_IN_STATEMENT', refund],
  ['isAskedAgain', 'STATUS_DIFFERS', { ...refund, ourStatus: 'reversal_due', walletStatus: 'completed' }],
  ['failedButReturned', 'STATUS_DIFFERS', { ...refund, ourStatus: 'reversal_refused' }],
  ['whoseIsIt', 'MISSING_HERE', { walletStatus: 'completed' }],
  ['secondCharge', 'MISSING_HERE', { ...attempt, walletStatus: 'completed' }],
  ['whichIsRight', 'AMOUNT_DIFFERS', attempt],
  ['isAskedAgain', 'STATUS_DIFFERS', { ...attempt, ourStatus: 'unknown', walletStatus: 'completed' }],
  ['wentBackUnasked', 'STATUS_DIFFERS', { ...attempt, ourStatus: 'succeeded', walletStatus: 'reversed' }],
  ['whatBecameOfIt', 'STATUS_DIFFERS', { ...attempt, ourStatus: 'succeeded', walletStatus: 'failed' }],
  ['nothingLeft', 'STATUS_DIFFERS', { ...stray, ourStatus: 'reversal_refused', walletStatus: 'reversed' }],
  ['whatBecameOfIt', 'STATUS_DIFFERS', { ...stray, ourStatus: 'reversed', walletStatus: 'completed' }],
] as const)('%s is the advice about %s with %j', (advice, kind, facts) => {
  const difference = create(DifferenceSchema, { kind: DifferenceKind[kind], ...facts });

  expect(adviceOn(difference)).toBe(advice);
  expect(operator.reconciliations.one.advice[advice]).toBeDefined();
});
