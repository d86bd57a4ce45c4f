import type { Environment } from '../gen/gatehouse/v1/order_pb.js';
import { CliError, exitCodes } from './cli-error.ts';

/** The options of `restore accept` that name the decision. */
export interface DecisionOptions {
  readonly wallet?: string;
  readonly environment?: Environment;
  readonly conflicts?: true;
  readonly erasures?: true;
  readonly accounts?: true;
  readonly merchants?: true;
  readonly despiteUnaccepted?: true;
}

/** @throws CliError unless the options name exactly one decision */
export function readDecision(options: DecisionOptions) {
  const { wallet, environment, conflicts, accounts, merchants, erasures } = options;
  if (environment !== undefined && wallet === undefined) throw unusedOption('--environment', '--wallet');
  if (options.despiteUnaccepted === true && accounts !== true)
    throw unusedOption('--despite-unaccepted', '--accounts');
  const given = [conflicts, accounts, merchants, erasures, wallet].filter((each) => each !== undefined);
  if (given.length === 1) {
    if (conflicts === true) return { case: 'conflicts', value: true } as const;
    if (accounts === true) return { case: 'accounts', value: true } as const;
    if (merchants === true) return { case: 'merchants', value: true } as const;
    if (erasures === true) return { case: 'erasures', value: true } as const;
    if (wallet !== undefined && environment !== undefined)
      return { case: 'wallet', value: { wallet, environment } } as const;
  }
  throw new CliError(
    exitCodes.invalidInput,
    'the command needs exactly one decision',
    'Give either --wallet with --environment, or --conflicts, or --accounts, or --merchants, or --erasures.',
  );
}

const unusedOption = (option: string, decision: string): CliError =>
  new CliError(
    exitCodes.invalidInput,
    `${option} belongs to ${decision}, which was not given`,
    `Leave ${option} out, or give ${decision}.`,
  );
