import { Code } from '@connectrpc/connect';
import type { ConnectError } from '@connectrpc/connect';
import { BadRequestSchema } from '../gen/google/rpc/error_details_pb.js';
import type { ErrorReason } from '../contract/error-reason.ts';
import { reasonOf } from '../platform/rpc/rpc-error.ts';
import { exitCodes } from './cli-error.ts';
import { requestIdOf } from './named-transport.ts';

/** What a command talks to, as it is called in a sentence. */
export type Server = 'core' | 'webhooks process';

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
  /** The servers the command was meant for. */
  readonly addresses: readonly string[];
  /** What those are; cores unless said otherwise. */
  readonly server?: Server;
  /** Whether doctor itself failed on the core: advice to run it would lead in a circle, and it changes nothing. */
  readonly isDoctor?: boolean;
}

const exitCodeOfStatus: Partial<Record<Code, number>> = {
  [Code.InvalidArgument]: exitCodes.invalidInput,
  [Code.NotFound]: exitCodes.notFound,
  [Code.Unauthenticated]: exitCodes.refused,
  [Code.PermissionDenied]: exitCodes.refused,
  [Code.AlreadyExists]: exitCodes.refused,
  [Code.FailedPrecondition]: exitCodes.refused,
  [Code.Aborted]: exitCodes.refused,
  [Code.ResourceExhausted]: exitCodes.refused,
  [Code.Unavailable]: exitCodes.unreachable,
  [Code.DeadlineExceeded]: exitCodes.unreachable,
};

const adviceFor = (reason: string, context: FailureContext): string => {
  const { server = 'core' } = context;
  const advice: Partial<Record<ErrorReason, string>> = {
    INVALID_SERVICE_TOKEN: `Set GATEHOUSE_SERVICE_TOKEN to an operator token of this ${server}: one of those in the ${server}'s GATEHOUSE_SERVICE_TOKENS.`,
    ROLE_NOT_ALLOWED: 'Set GATEHOUSE_SERVICE_TOKEN to a token of a role that may, such as operator.',
    MERCHANT_NOT_FOUND: `See which there are: gatehouse merchant list`,
    USER_NOT_FOUND: `See who there is: gatehouse user list --merchant <merchant_id>; for the operators: gatehouse user list`,
    ALREADY_A_MEMBER: `See who is there: gatehouse user list --merchant <merchant_id>`,
    LAST_OWNER: `Invite another one: gatehouse user invite <email> --merchant <merchant_id> --role owner`,
    LAST_OPERATOR: `Invite another one: gatehouse user invite <email> --operator`,
    API_KEY_NOT_FOUND: `See which the merchant has: gatehouse key list <merchant_id>`,
    ACCOUNT_HELP_NOT_FOUND: `See what was asked for: gatehouse user help-list`,
    TOTP_NOT_ENABLED: `See who has one: gatehouse user list --merchant <merchant_id>`,
    SECOND_OPERATOR_NEEDED: 'Let another operator approve it in the dashboard, on the page Users.',
    OPERATOR_TOO_NEW: 'Let an operator who has been one for longer approve it, or wait.',
    MAILED_TO_USER:
      'Tell the user to look for the mail, or to ask for another link on the page for signing in.',
    TOO_MANY_TRIES: 'Wait for the time that is named, and try again.',
    ORDER_NOT_FOUND:
      'An order is found under its own merchant and environment only: SANDBOX, unless --environment says PRODUCTION.',
    PAYMENT_ATTEMPT_NOT_FOUND: `See which the merchant has: gatehouse payment list <merchant_id>`,
    STRAY_PAYMENT_NOT_FOUND: `See which there are: gatehouse payment strays`,
    REVERSAL_NOT_REFUSED: `See where it stands: gatehouse payment strays`,
    DELIVERY_NOT_FOUND: `See which the merchant has: gatehouse webhook deliveries <merchant_id>`,
    REDELIVERY_NOT_FOUND: `Its id was printed when it was started with: gatehouse webhook redeliver <merchant_id> --since <time>`,
    ENDPOINT_NOT_FOUND: [
      'An endpoint is found in its own environment only: SANDBOX, unless --environment says PRODUCTION.',
      `See which there are: gatehouse webhook endpoints <merchant_id>`,
    ].join('\n'),
    NO_NEXT_SECRET: `See which there are: gatehouse webhook secret list <merchant_id>`,
    REDELIVERY_RUNNING: 'It goes on by itself, and is soon over. Try again then.',
    RECONCILIATION_NOT_FOUND: `See which there are: gatehouse reconcile list`,
    API_KEY_NOT_USABLE: `That is: gatehouse key issue <merchant_id>`,
    TOO_MANY_API_KEYS: `Revoke one that is not used any more: gatehouse key revoke <merchant_id> <api_key_id>`,
    OVERLOADED: 'Try again in a few seconds.',
    SERVER_DRAINING: `The ${server} is being stopped. Try again when it, or another, is up.`,
    CORE_UNAVAILABLE: seeDoctor(context),
    DATABASE_UNAVAILABLE: seeDoctor(context),
    INTERNAL: seeDoctor(context),
  };
  return Object.entries(advice).find(([known]) => known === reason)?.[1] ?? '';
};

/** Says of an error that a call ended with what happened, what to do and which exit code it comes to. */
export function describeRpcFailure(error: ConnectError, context: FailureContext): Failure {
  const { server = 'core' } = context;
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
    reason === 'INVALID_SERVICE_TOKEN' ? `the ${server} does not know this service token` : error.rawMessage;
  return {
    ...common,
    message: common.issues.length > 0 ? `the ${server} did not accept the input` : message,
    advice: adviceFor(reason, context),
  };
}

/** Of an error that did not come from Gatehouse, but from the way to it. */
function describeTransportFailure(error: ConnectError, context: FailureContext) {
  const { server = 'core' } = context;
  const where = context.addresses.join(', ');
  if (error.code === Code.Unimplemented)
    return {
      message: `what answers at ${where} is no ${server}, or one of another version (${error.rawMessage})`,
      advice: `Use the command line that came with that ${server}.`,
    };
  if (error.code === Code.DeadlineExceeded && wasConnected(error)) {
    const doubt =
      'If the command was to change something, that may have happened all the same: look before you repeat it.';
    return {
      message: `the ${server} at ${where} did not finish in time`,
      advice: context.isDoctor
        ? `See the log of the ${server}; restart it if it hangs.`
        : `${doubt}\n${seeDoctor(context)}`,
    };
  }
  if (error.code !== Code.Unavailable && error.code !== Code.DeadlineExceeded)
    return { message: error.rawMessage, advice: seeDoctor(context) };
  return {
    message: `no ${server} answers at ${where}${causeOf(error)}`,
    advice: ['Start Gatehouse on this machine with: npm start', howToName[server], seeDoctor(context)]
      .join('\n')
      .trimEnd(),
  };
}

const howToName: Readonly<Record<Server, string>> = {
  core: 'Or name a core that runs, with --address or GATEHOUSE_CORE_ADDRESSES.',
  'webhooks process': 'Or name a webhooks process that runs, with GATEHOUSE_WEBHOOKS_ADDRESSES.',
};

const seeDoctor = ({ isDoctor }: FailureContext): string =>
  isDoctor ? '' : `See what is wrong: gatehouse doctor`;

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
