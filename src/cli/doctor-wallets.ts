import type { Environment } from '../gen/gatehouse/v1/order_pb.js';
import type { PayerPayment } from '../gen/gatehouse/v1/payer_payment_service_pb.js';
import type { Wallet } from '../gen/gatehouse/v1/wallet_service_pb.js';
import type { Finding } from './doctor-finding.ts';
import { environmentWord } from './options.ts';
import { showTime } from './time.ts';

/**
 * One finding for each wallet whose statement is not compared: where, and what takes its place. It is no fault, because many
 * providers have no statement.
 */
export function judgeStatements(subject: string, wallets: readonly Wallet[]): readonly Finding[] {
  return wallets.flatMap(({ wallet, environments, reconciledEnvironments }) => {
    const without = environments.filter((each) => !reconciledEnvironments.includes(each));
    if (without.length === 0) return [];
    return {
      ...{ subject, check: `${wallet} statement`, result: 'ok', code: 'healthy', advice: '' },
      detail: `not compared in ${namesOf(without)}: ${wallet} offers no statement, or its setting reconcile is not true. ${instead}`,
    } as const;
  });
}

const namesOf = (environments: readonly Environment[]): string =>
  environments.map((each) => environmentWord(each)).join(' and ');

const instead =
  'Gatehouse queries each payment until the wallet decides it. ' +
  "Compare the totals of a day with the wallet's portal by hand";

/** The payments that payers started and their wallet did not confirm in time, newest first. No finding without them. */
export function judgeAbandoned(
  subject: string,
  payments: readonly PayerPayment[],
  hasMore: boolean,
): readonly Finding[] {
  const oldest = payments.at(-1);
  if (oldest === undefined) return [];
  const count = `${hasMore ? 'more than ' : ''}${payments.length}`;
  const were = count === '1' ? 'payer-started payment was' : 'payer-started payments were';
  return [
    {
      ...{ subject, check: 'payer-started', result: 'warning', code: 'abandoned' },
      detail:
        `${count} ${were} not confirmed by the wallet within three days; ` +
        `${oldest.payerPaymentId} at ${oldest.wallet} has waited since ${showTime(oldest.createTime)}`,
      advice:
        'look each up with the wallet: the money may be in its account. Then have Gatehouse ask the wallet again:\n' +
        'gatehouse payment payer-started --status abandoned\n' +
        'gatehouse payment confirm <payer_payment_id>',
    },
  ];
}
