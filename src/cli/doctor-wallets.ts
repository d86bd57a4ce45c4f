import type { Environment } from '../gen/gatehouse/v1/order_pb.js';
import type { Wallet } from '../gen/gatehouse/v1/wallet_service_pb.js';
import type { Finding } from './doctor-finding.ts';
import { environmentWord } from './options.ts';

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
      detail: `not compared in ${namesOf(without)}: ${wallet} has none, or reconcile is not true for it. ${instead}`,
    } as const;
  });
}

const namesOf = (environments: readonly Environment[]): string =>
  environments.map((each) => environmentWord(each)).join(' and ');

const instead =
  'Gatehouse queries each payment until the wallet decides it. ' +
  "Compare the totals of a day with the wallet's portal by hand";
