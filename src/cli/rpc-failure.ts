import { Code } from '@connectrpc/connect';
import type { ConnectError } from '@connectrpc/connect';
import { BadRequestSchema } from '../gen/google/rpc/error_details_pb.js';
import type { ErrorReason } from '../contract/error-reason.ts';
import { reasonOf } from '../platform/rpc/rpc-error.ts';
import { exitCodes } from './cli-error.ts';
import { methodOf, requestIdOf } from './named-transport.ts';

/** The kind of server that a command calls, as a noun for sentences. */
export type Server = 'core' | 'webhooks process';

/** An error as the user sees it. */
export interface Failure {
  readonly exitCode: number;
  readonly message: string;
  readonly issues: readonly { readonly field: string; readonly issue: string }[];
  /** The advice; may be empty. */
  readonly advice: string;
  /** The error reason, if the server gave one. */
  readonly reason: string | undefined;
  /** The request id in the server's log. */
  readonly requestId: string | undefined;
}

/** The facts that advice depends on. */
export interface FailureContext {
  /** The addresses of the command's servers. */
  readonly addresses: readonly string[];
  /** The kind of these servers; core by default. */
  readonly server?: Server;
  /** Whether doctor itself failed. Then advice to run doctor is useless, and nothing was changed. */
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

/** What to do about a reason. */
const advice: Partial<Record<ErrorReason, string | ((context: FailureContext) => string)>> = {
  INVALID_SERVICE_TOKEN: ({ server = 'core' }) =>
    `Set GATEHOUSE_SERVICE_TOKEN to an operator token from the GATEHOUSE_SERVICE_TOKENS of this ${server}.`,
  ROLE_NOT_ALLOWED: 'Set GATEHOUSE_SERVICE_TOKEN to a token of an allowed role, such as operator.',
  MERCHANT_NOT_FOUND: 'To list merchants: gatehouse merchant list',
  CERTIFICATION_REQUIRED: [
    'Certify the receiver and integration of the merchant in the sandbox, and record the results. docs/certification.md says how:',
    'gatehouse certify --webhook-url <url> --record <merchant_id>',
  ].join('\n'),
  MERCHANTS_LOST: [
    'To see which merchants are missing after the restore, and how to create them again: gatehouse restore status',
    'If this is another merchant, answer first: gatehouse restore accept --merchants --reason <text>',
  ].join('\n'),
  ADDED_ACCOUNTS_NOT_ACCEPTED: [
    'To list the accounts of a merchant and their checks: gatehouse merchant wallet list <merchant_id> --environment <environment>',
    'If you know that these accounts took no payment in the lost time: gatehouse restore accept --accounts --despite-unaccepted --reason <text>',
  ].join('\n'),
  NOT_RECOVERING: 'To see which decisions the recovery waits for: gatehouse restore status',
  MERCHANT_NOT_LOST: 'To list merchants: gatehouse merchant list',
  USER_NOT_FOUND: [
    "To list a merchant's users and open invitations: gatehouse user list --merchant <merchant_id>; the operators: gatehouse user list",
    'A person with an open invitation has no account yet. For a new link, invite that address again.',
  ].join('\n'),
  ALREADY_A_MEMBER: 'To list the users: gatehouse user list --merchant <merchant_id>',
  LAST_OWNER:
    'Invite another owner first: gatehouse user invite <email> --merchant <merchant_id> --role owner',
  LAST_OPERATOR: 'Invite another operator first: gatehouse user invite <email> --operator',
  API_KEY_NOT_FOUND: "To list the merchant's keys: gatehouse key list <merchant_id>",
  ACCOUNT_HELP_NOT_FOUND: 'To list open requests: gatehouse user requests',
  TOTP_NOT_ENABLED: 'To see which users have one-time codes: gatehouse user list --merchant <merchant_id>',
  SECOND_OPERATOR_NEEDED:
    'Let another operator approve it in the dashboard: a settlement on the page Waiting for a person, help for a user on the page Users. All users of one service token count as one operator.',
  OPERATOR_TOO_NEW:
    'Wait until the operator whom the message names has been an operator for 24 hours. Or withdraw the request or proposal, and have another operator make it again.',
  MAILED_TO_USER: 'Tell the user to look for the mail, or to request another link on the sign-in page.',
  TOO_MANY_TRIES: 'Wait for the time that the message names, and try again.',
  ORDER_NOT_FOUND:
    'Check the merchant and the environment. The command searches SANDBOX unless you add --environment production.',
  PAYMENT_ATTEMPT_NOT_FOUND:
    "To list the merchant's payments: gatehouse payment list <merchant_id> --environment <environment>",
  STRAY_PAYMENT_NOT_FOUND: 'To list stray payments: gatehouse payment strays',
  PAYER_PAYMENT_NOT_FOUND: 'To list payer-started payments: gatehouse payment payer-started',
  WALLET_ACCOUNT_NOT_FOUND:
    "To list the merchant's wallets and accounts: gatehouse merchant wallet list <merchant_id> --environment <environment>",
  REFUND_NOT_FOUND: [
    'Check the merchant and, for a refund_number, the environment. The command searches SANDBOX unless you add --environment production.',
    'To list refunds: gatehouse refund list --merchant <merchant_id>',
  ].join('\n'),
  REFUND_NUMBER_TAKEN: 'Repeat the command with the same values, or use another --refund-number.',
  ORDER_NOT_REFUNDABLE:
    'To see its status and refunds: gatehouse order show <merchant_id> <order> --environment <environment>',
  REFUND_NOT_AWAITING_APPROVAL: 'To see its state: gatehouse refund show <merchant_id> <refund_id>',
  SECOND_PERSON_NEEDED:
    'Let another person approve it in the dashboard. All users of one service token count as one person.',
  SETTLEMENT_NOT_FOUND: 'To list settlements: gatehouse settlement list',
  SETTLEMENT_OPEN: 'To see the proposal that waits: gatehouse settlement waiting',
  SETTLEMENT_NOT_OPEN: 'To list settlements: gatehouse settlement list',
  NOT_UNSETTLED: 'To list what waits for a person: gatehouse settlement waiting',
  WALLET_CALL_RUNNING: 'Wait a minute, and see whether it still waits: gatehouse settlement waiting',
  RECOVERING: 'To see what the recovery waits for: gatehouse restore status',
  WALLET_ACCOUNT_NOT_CHECKED:
    'To list the accounts of a merchant and their checks: gatehouse merchant wallet list <merchant_id> --environment <environment>',
  REVERSAL_NOT_REFUSED: 'To see its state: gatehouse payment strays',
  DELIVERY_NOT_FOUND:
    "To list the merchant's deliveries: gatehouse webhook deliveries <merchant_id> --environment <environment>",
  REDELIVERY_NOT_FOUND:
    'The id is in the output of the command that started it: gatehouse webhook redeliver <merchant_id> --since <time> --environment <environment>',
  ENDPOINT_NOT_FOUND: [
    'Check the environment. The command searches SANDBOX unless you add --environment production.',
    'To list hosts: gatehouse webhook hosts <merchant_id>',
  ].join('\n'),
  WEBHOOK_ENDPOINT_NOT_FOUND:
    "To list the merchant's webhook endpoints: gatehouse webhook endpoint list <merchant_id>",
  WEBHOOK_ENDPOINT_EXISTS: [
    'Change that one: gatehouse webhook endpoint update <merchant_id> <endpoint_id>',
    'If its signing secret was never shown, as after a lost answer: gatehouse webhook endpoint rotate-secret <merchant_id> <endpoint_id> --promote-after 0s',
  ].join('\n'),
  WEBHOOK_ENDPOINT_DELETED:
    "To list the merchant's webhook endpoints: gatehouse webhook endpoint list <merchant_id>",
  TOO_MANY_WEBHOOK_ENDPOINTS:
    'Delete one that is no longer used: gatehouse webhook endpoint delete <merchant_id> <endpoint_id>',
  NO_NEXT_SECRET: [
    'To list secrets: gatehouse webhook secret list <merchant_id>',
    'Those of a webhook endpoint: gatehouse webhook endpoint show <merchant_id> <endpoint_id>',
  ].join('\n'),
  REDELIVERY_RUNNING: 'The running redelivery ends soon by itself. Try again then.',
  RECONCILIATION_NOT_FOUND: 'To list reconciliations: gatehouse reconcile list',
  API_KEY_NOT_USABLE: 'Create a new key: gatehouse key issue <merchant_id> --environment <environment>',
  TOO_MANY_API_KEYS: 'Revoke a key that is no longer used: gatehouse key revoke <merchant_id> <api_key_id>',
  INVALID_CLIENT_CERTIFICATE:
    'Set GATEHOUSE_TLS_CERTIFICATE_FILE and GATEHOUSE_TLS_KEY_FILE to a certificate that the server accepts.',
  OVERLOADED: 'Try again in a few seconds.',
  SERVER_DRAINING: ({ server = 'core' }) =>
    `The ${server} is stopping. Try again when it, or another, is running.`,
  CORE_UNAVAILABLE: seeDoctor,
  DATABASE_UNAVAILABLE: seeDoctor,
  INTERNAL: seeDoctor,
};

function adviceFor(reason: string, context: FailureContext): string {
  const found = Object.entries(advice).find(([known]) => known === reason)?.[1] ?? '';
  return typeof found === 'string' ? found : found(context);
}

/** The options whose names differ from those of the fields that they fill. */
const optionNames: Readonly<Record<string, string>> = { date: 'day' };

/** Describes the error of a call: what happened, what to do, and the exit code. */
export function describeRpcFailure(error: ConnectError, context: FailureContext): Failure {
  const { server = 'core' } = context;
  const reason = reasonOf(error);
  const common = {
    exitCode: exitCodeOfStatus[error.code] ?? exitCodes.unexpected,
    issues: error
      .findDetails(BadRequestSchema)
      .flatMap(({ fieldViolations }) => fieldViolations)
      .map(({ field, description }) => ({ field: optionNames[field] ?? field, issue: description })),
    reason,
    requestId: requestIdOf(error),
  };
  if (reason === undefined || reason === 'NOT_IMPLEMENTED')
    return { ...common, ...describeTransportFailure(error, context) };
  const message =
    reason === 'INVALID_SERVICE_TOKEN' ? `the ${server} does not know this service token` : error.rawMessage;
  return {
    ...common,
    message: common.issues.length > 0 ? `the ${server} did not accept the input` : message,
    advice: [mayLeaveDoubt.has(reason) ? doubtAbout(error, context) : '', adviceFor(reason, context)]
      .join('\n')
      .trim(),
  };
}

/** The reasons of failures after which the database may have committed the change. */
const mayLeaveDoubt: ReadonlySet<string> = new Set<ErrorReason>(['DATABASE_UNAVAILABLE', 'INTERNAL']);

/** How to find out what a command without an answer created. Each of them would create another if it were only repeated. */
const howToCheck: Readonly<Record<string, string>> = {
  CreateMerchant:
    'The merchant may have been created. See the newest before you repeat it: gatehouse merchant list',
  IssueApiKey: [
    'The key may have been created, and nobody has it. Before you repeat it, see the newest: gatehouse key list <merchant_id>',
    'Revoke it if it is there: gatehouse key revoke <merchant_id> <api_key_id>',
  ].join('\n'),
};

/** What to do about a change that may have happened; empty for a command that only reads. */
function doubtAbout(error: ConnectError, { isDoctor }: FailureContext): string {
  const method = methodOf(error) ?? '';
  if (isDoctor || /^(Get|List|Find|Explain|Diagnose)/.test(method)) return '';
  return (
    howToCheck[method === 'RotateApiKey' ? 'IssueApiKey' : method] ??
    'If the command changes something, the change may have happened. Check before you repeat it.'
  );
}

/** Describes an error of the connection, not of Gatehouse. */
function describeTransportFailure(error: ConnectError, context: FailureContext) {
  const { server = 'core' } = context;
  const where = context.addresses.join(', ');
  if (error.code === Code.Unimplemented)
    return {
      message: `the server at ${where} is not a ${server}, or is another version (${error.rawMessage})`,
      advice: `Use the command line that came with that ${server}.`,
    };
  if (error.code === Code.DeadlineExceeded && wasConnected(error)) {
    return {
      message: `the ${server} at ${where} did not finish in time`,
      advice: context.isDoctor
        ? `See the log of the ${server}. Restart it if it hangs.`
        : `${doubtAbout(error, context)}\n${seeDoctor(context)}`.trim(),
    };
  }
  if (error.code !== Code.Unavailable && error.code !== Code.DeadlineExceeded)
    return { message: error.rawMessage, advice: seeDoctor(context) };
  const cause = causeOf(error);
  if (error.code === Code.Unavailable && cause === undefined && !wasNeverConnected(error))
    return {
      message: `the connection to the ${server} at ${where} was lost before it answered (${error.rawMessage})`,
      advice: context.isDoctor ? whyItMayExit : `${doubtAbout(error, context)}\n${seeDoctor(context)}`.trim(),
    };
  return {
    message: `no ${server} answers at ${where}${cause === undefined ? '' : ` (${cause})`}`,
    advice: [
      cause === unknownName ? whyItHasNoAddress[server] : cause === noAnswer ? whatToDoIfItHangs : howToStart,
      howToName[server],
      context.isDoctor && server === 'core' && cause !== noAnswer ? whyItMayExit : seeDoctor(context),
    ]
      .join('\n')
      .trimEnd(),
  };
}

export const howToStart =
  'Start Gatehouse on this machine: npm start, or with systemd: systemctl start gatehouse.target';

const howToName: Readonly<Record<Server, string>> = {
  core: 'Or set the address of a running core with --address or GATEHOUSE_CORE_ADDRESSES.',
  'webhooks process': 'Or set the address of a running webhooks process with GATEHOUSE_WEBHOOKS_ADDRESSES.',
};

/** The name of a service without a cluster address resolves to its ready pods only. */
const whyItHasNoAddress: Readonly<Record<Server, string>> = {
  core:
    'On Kubernetes the name has no address while no core is ready, for example because the database does not answer. ' +
    'Then ask one pod: kubectl exec deploy/core -- gatehouse doctor --address localhost:50051',
  'webhooks process':
    'On Kubernetes the name has no address while no webhooks process is ready, for example because the database does not answer.',
};

/** A server that is not started refuses connections at once. */
const whatToDoIfItHangs =
  'If it was started, it hangs or is overloaded, or the network drops the connection. Read its log. Stop it, and start it again.';

const whyItMayExit =
  'If it was started, read its log. Core exits if a setting is invalid, or if its master key is not that of the database.';

function seeDoctor({ isDoctor }: FailureContext): string {
  return isDoctor ? '' : 'To find the cause: gatehouse doctor';
}

/** grpc-js names the server only if the call was connected. */
const wasConnected = ({ rawMessage }: ConnectError): boolean => rawMessage.includes('remote_addr');

/** The words of grpc-js for a call that was not sent. Otherwise the server may have executed it. */
const wasNeverConnected = ({ rawMessage }: ConnectError): boolean =>
  rawMessage.includes('No connection established');

const unknownName = 'the name is unknown';
const noAnswer = 'no answer came in time';

/** Messages of grpc-js about failed connections, and their meaning. */
const connectionCauses: readonly (readonly [pattern: RegExp, meaning: string])[] = [
  [/ECONNREFUSED/, 'nothing listens there'],
  [/EHOSTUNREACH|ENETUNREACH/, 'the network has no route to it'],
  [/Name resolution failed|ENOTFOUND|EAI_AGAIN/, unknownName],
  [/certificate has expired/, 'its TLS certificate has expired'],
  [
    /does not match certificate/,
    'its TLS certificate is for other names: use one of them as the address, or issue it for this address',
  ],
  [
    /self-signed certificate|unable to (get|verify)|unknown ca/i,
    'its TLS certificate is not of an authority in the file that GATEHOUSE_TLS_CA_FILE names',
  ],
  [
    /wrong version number|packet length too long/,
    'it speaks no TLS: give it a certificate, or unset GATEHOUSE_TLS_CA_FILE here',
  ],
  [/Protocol error/, 'the server there does not speak gRPC'],
  // In this case grpc-js has no other words for a server that ends the connection.
  [/Failed to connect/, 'it ends every connection: if it speaks TLS, set GATEHOUSE_TLS_CA_FILE here'],
  [/Deadline exceeded/, noAnswer],
];

const causeOf = ({ rawMessage }: ConnectError): string | undefined =>
  connectionCauses.find(([pattern]) => pattern.test(rawMessage))?.[1];
