import { ConnectError } from '@connectrpc/connect';
import { CommanderError } from 'commander';
import { SettingsError } from '../platform/settings/read-settings.ts';
import { CliError, exitCodes } from './cli-error.ts';
import { jsonLine } from './output.ts';
import { describeRpcFailure } from './rpc-failure.ts';
import type { Failure, FailureContext, Server } from './rpc-failure.ts';
import { printable } from './table.ts';

/** Describes any error: what happened, what to do, and the exit code. */
export function describeFailure(error: unknown, context: FailureContext): Failure {
  const none = { issues: [], advice: '', reason: undefined, requestId: undefined };
  if (error instanceof CliError) {
    const { message, exitCode, advice } = error;
    return { ...none, message, exitCode, advice };
  }
  if (error instanceof ConnectError) return describeRpcFailure(error, context);
  if (error instanceof SettingsError)
    return {
      ...none,
      exitCode: exitCodes.invalidInput,
      message: error.message,
      advice: 'Correct the setting, or unset it.',
    };
  if (error instanceof CommanderError) {
    return {
      ...none,
      exitCode: exitCodes.invalidInput,
      message:
        error.code === 'commander.help' ? 'the command is missing' : error.message.replace(/^error: /, ''),
      advice: `${mistakenMerchant.test(error.message) ? 'Name the merchant by --merchant, if the command has this option. ' : ''}To see how a command is used, add --help to it.`,
    };
  }
  return {
    ...none,
    exitCode: exitCodes.unexpected,
    message: error instanceof Error ? error.message : String(error),
    advice: 'This is a defect in Gatehouse. Add --verbose to see where it happened.',
  };
}

/** Commander's message about a merchant that is an argument. Lists of all merchants have an option for it. */
const mistakenMerchant = /Expected 0 arguments but got 1: mer_/;

/** The failure as lines of text: what happened, each issue, what to do and, if `stack` is given, where it happened. */
export function failureText(failure: Failure, stack: string | undefined, server: Server = 'core'): string {
  const lines = [
    `error: ${failure.message}`,
    ...failure.issues.map(({ field, issue }) => `  ${field}: ${issue}`),
    ...(failure.advice === '' ? [] : [failure.advice]),
    ...(failure.exitCode === exitCodes.unexpected && failure.requestId !== undefined
      ? [`For details, search the log of the ${server} for request_id ${failure.requestId}.`]
      : []),
    ...(stack === undefined ? [] : [stack]),
  ];
  return `${printable(lines.join('\n'))}\n`;
}

/** The failure as one line of JSON. `stack` is where it happened, if the user wants to know. */
export function failureJson(failure: Failure, stack: string | undefined): string {
  const { exitCode, message, issues, advice, reason, requestId } = failure;
  const error = {
    exit_code: exitCode,
    reason: reason ?? null,
    message,
    issues: issues.map(({ field, issue }) => ({ field, issue })),
    advice,
    request_id: requestId ?? null,
    ...(stack === undefined ? {} : { stack }),
  };
  return jsonLine({ error });
}

/** The message when the output cannot be written, for example to a full disk. */
export function lostOutput(code: string | undefined, isJson: boolean): string {
  const failure = {
    message: `the output could not be written (${code ?? 'unknown error'})`,
    exitCode: exitCodes.unexpected,
    issues: [],
    advice:
      'The command itself may have succeeded. What its output shows only once, such as an API key, is lost: replace it.',
    reason: undefined,
    requestId: undefined,
  };
  return isJson ? failureJson(failure, undefined) : failureText(failure, undefined);
}
