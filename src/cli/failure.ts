import { Code, ConnectError } from '@connectrpc/connect';
import { CommanderError } from 'commander';
import { BadRequestSchema } from '../gen/google/rpc/error_details_pb.js';
import { ConfigError } from '../runtime/config.ts';
import type { ErrorReason } from '../runtime/rpc/error-reason.ts';
import { reasonOf } from '../runtime/rpc/rpc-error.ts';
import { requestIdOf } from './core-clients.ts';
import { printable } from './table.ts';

/** What the process's exit code tells a script. */
export const exitCodes = {
  ok: 0,
  unexpected: 1,
  invalidInput: 2,
  notFound: 3,
  refused: 4,
  unreachable: 5,
} as const;

export const exitCodeHelp = `Exit codes:
  0  done; for doctor: nothing has failed
  1  an unexpected error; for doctor: something has failed
  2  the command or its input is not right; nothing was done
  3  there is no such merchant, key or order
  4  refused: not permitted, not possible in this state, or too much
  5  the core cannot be reached, or cannot reach its database`;

/** The command cannot go on, for a reason its user can do something about. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly exitCode: number;
  /** What to do, one thing a line. */
  readonly advice: string;

  constructor(exitCode: number, message: string, advice: string) {
    super(message);
    this.exitCode = exitCode;
    this.advice = advice;
  }
}

/** An error as the user is told of it. */
export interface Failure {
  readonly exitCode: number;
  readonly message: string;
  readonly issues: readonly { readonly field: string; readonly issue: string }[];
  /** What to do; may be empty. */
  readonly advice: string;
  /** The core's word for it, when the core refused. */
  readonly reason: string | undefined;
  /** The request as the core's log names it. */
  readonly requestId: string | undefined;
}

/** What advice may need to know. */
export interface FailureContext {
  /** How the program is called, so that advice can be pasted. */
  readonly invocation: string;
  /** The cores the command was meant for. */
  readonly addresses: readonly string[];
  /** Whether doctor itself failed on the core: advice to run it would lead in a circle, and it changes nothing. */
  readonly isDoctor?: boolean;
}

const exitCodeOfStatus: Partial<Record<Code, number>> = {
  [Code.InvalidArgument]: exitCodes.invalidInput,
  [Code.OutOfRange]: exitCodes.invalidInput,
  [Code.NotFound]: exitCodes.notFound,
  [Code.Unauthenticated]: exitCodes.refused,
  [Code.PermissionDenied]: exitCodes.refused,
  [Code.AlreadyExists]: exitCodes.refused,
  [Code.FailedPrecondition]: exitCodes.refused,
  [Code.ResourceExhausted]: exitCodes.refused,
  [Code.Aborted]: exitCodes.refused,
  [Code.Unavailable]: exitCodes.unreachable,
  [Code.DeadlineExceeded]: exitCodes.unreachable,
};

const adviceFor = (reason: string, context: FailureContext): string => {
  const { invocation } = context;
  const advice: Partial<Record<ErrorReason, string>> = {
    INVALID_SERVICE_TOKEN:
      "Set GATEHOUSE_SERVICE_TOKEN to an operator token of this core: one of those in the core's GATEHOUSE_SERVICE_TOKENS.",
    ROLE_NOT_ALLOWED: 'Set GATEHOUSE_SERVICE_TOKEN to a token of a role that may, such as operator.',
    MERCHANT_NOT_FOUND: `See which there are: ${invocation} merchant list`,
    API_KEY_NOT_FOUND: `See which the merchant has: ${invocation} key list <merchant_id>`,
    ORDER_NOT_FOUND:
      'An order is found under its own merchant and environment only: SANDBOX, unless --environment says PRODUCTION.',
    API_KEY_NOT_USABLE: `That is: ${invocation} key issue <merchant_id>`,
    TOO_MANY_API_KEYS: `Revoke one that is not used any more: ${invocation} key revoke <merchant_id> <api_key_id>`,
    OVERLOADED: 'Try again in a few seconds.',
    SERVER_DRAINING: 'The core is being stopped. Try again when it, or another, is up.',
    DATABASE_UNAVAILABLE: seeDoctor(context),
    INTERNAL: seeDoctor(context),
  };
  return Object.entries(advice).find(([known]) => known === reason)?.[1] ?? '';
};

/** Says of any error what happened, what to do and which exit code it comes to. */
export function describeFailure(error: unknown, context: FailureContext): Failure {
  const none = { issues: [], advice: '', reason: undefined, requestId: undefined };
  if (error instanceof CliError) {
    const { message, exitCode, advice } = error;
    return { ...none, message, exitCode, advice };
  }
  if (error instanceof ConnectError) return describeRpcFailure(error, context);
  if (error instanceof ConfigError)
    return {
      ...none,
      exitCode: exitCodes.invalidInput,
      message: error.message,
      advice: 'Set it right, or unset it.',
    };
  if (error instanceof CommanderError) {
    return {
      ...none,
      exitCode: exitCodes.invalidInput,
      message: error.message.replace(/^error: /, ''),
      advice: 'Add --help to a command to see how it is used.',
    };
  }
  return {
    ...none,
    exitCode: exitCodes.unexpected,
    message: error instanceof Error ? error.message : String(error),
    advice: 'This is a mistake in Gatehouse. Add --verbose to see where it happened.',
  };
}

function describeRpcFailure(error: ConnectError, context: FailureContext): Failure {
  const reason = reasonOf(error);
  const common = {
    exitCode: exitCodeOfStatus[error.code] ?? exitCodes.unexpected,
    issues: error
      .findDetails(BadRequestSchema)
      .flatMap(({ fieldViolations }) => fieldViolations)
      .map(({ field, description }) => ({ field, issue: description })),
    reason,
    requestId: requestIdOf(error),
  };
  if (reason === undefined) return { ...common, ...describeTransportFailure(error, context) };
  const message =
    reason === 'INVALID_SERVICE_TOKEN' ? 'the core does not know this service token' : error.rawMessage;
  return {
    ...common,
    message: common.issues.length > 0 ? 'the core did not accept the input' : message,
    advice: adviceFor(reason, context),
  };
}

/** Of an error that did not come from a Gatehouse core, but from the way to it. */
function describeTransportFailure(error: ConnectError, context: FailureContext) {
  const where = context.addresses.join(', ');
  if (error.code === Code.Unimplemented)
    return {
      message: `what answers at ${where} is no core, or one of another version (${error.rawMessage})`,
      advice: 'Use the command line that came with that core.',
    };
  if (error.code === Code.DeadlineExceeded && wasConnected(error)) {
    const doubt =
      'If the command was to change something, that may have happened all the same: look before you repeat it.';
    return {
      message: `the core at ${where} did not finish in time`,
      advice: context.isDoctor
        ? 'See the log of the core; restart it if it hangs.'
        : `${doubt}\n${seeDoctor(context)}`,
    };
  }
  if (error.code !== Code.Unavailable && error.code !== Code.DeadlineExceeded)
    return { message: error.rawMessage, advice: seeDoctor(context) };
  return {
    message: `no core answers at ${where}${causeOf(error)}`,
    advice: [
      'Start Gatehouse on this machine with: npm start',
      'Or name a core that runs, with --address or GATEHOUSE_CORE_ADDRESSES.',
      seeDoctor(context),
    ]
      .join('\n')
      .trimEnd(),
  };
}

const seeDoctor = ({ invocation, isDoctor }: FailureContext): string =>
  isDoctor ? '' : `See what is wrong: ${invocation} doctor`;

/** grpc-js names the server of a call that came so far. */
const wasConnected = ({ rawMessage }: ConnectError): boolean => rawMessage.includes('remote_addr');

/** What grpc-js says of a connection that could not be made, and what that means. */
const connectionCauses: readonly (readonly [said: RegExp, meaning: string])[] = [
  [/ECONNREFUSED/, 'nothing listens there'],
  [/EHOSTUNREACH|ENETUNREACH/, 'there is no way there'],
  [/Name resolution failed|ENOTFOUND|EAI_AGAIN/, 'the name is not known'],
  [/Protocol error/, 'what listens there does not speak gRPC'],
  [/Deadline exceeded/, 'nothing came back in time'],
];

function causeOf({ rawMessage }: ConnectError): string {
  const meaning = connectionCauses.find(([said]) => said.test(rawMessage))?.[1];
  return meaning === undefined ? '' : ` (${meaning})`;
}

/** The failure as lines for people: what happened, each issue, what to do. */
export function failureText(failure: Failure): string {
  const lines = [
    `error: ${failure.message}`,
    ...failure.issues.map(({ field, issue }) => `  ${field}: ${issue}`),
    ...(failure.advice === '' ? [] : [failure.advice]),
    ...(failure.exitCode === exitCodes.unexpected && failure.requestId !== undefined
      ? [`The core's log has it under request_id ${failure.requestId}.`]
      : []),
  ];
  return `${printable(lines.join('\n'))}\n`;
}

/** The failure as one line of JSON. */
export function failureJson({ exitCode, message, issues, advice, reason, requestId }: Failure): string {
  const error = {
    exit_code: exitCode,
    reason: reason ?? null,
    message,
    issues,
    advice,
    request_id: requestId ?? null,
  };
  return `${JSON.stringify({ error })}\n`;
}
