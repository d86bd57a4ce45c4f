import type { DescEnum, DescEnumValue } from '@bufbuild/protobuf';
import { timestampDate } from '@bufbuild/protobuf/wkt';
import type { Timestamp } from '@bufbuild/protobuf/wkt';
import { Code, ConnectError } from '@connectrpc/connect';
import { checkText } from '../../contract/check-text.ts';
import {
  CheckFindingSchema,
  CheckResult,
  CheckSubjectSchema,
} from '../../gen/gatehouse/v1/diagnostics_service_pb.js';
import type { Check } from '../../gen/gatehouse/v1/diagnostics_service_pb.js';
import { PayerPaymentStatus } from '../../gen/gatehouse/v1/payer_payment_service_pb.js';
import { HealthCheckResponse_ServingStatus as ServingStatus } from '../../gen/health/v1/health_pb.js';
import { hostOf, isLoopback } from '../../platform/tls/plaintext.ts';
import type { CoreClients } from '../core-clients.ts';
import type { Finding, Result } from './doctor-finding.ts';
import { judgeAbandoned, judgeClocks, judgeRequests, judgeStatements } from './doctor-wallets.ts';
import { describeFailure } from '../failure.ts';
import { quote } from '../quote.ts';
import type { FailureContext } from '../rpc-failure.ts';
import { requireField } from '../output.ts';
import type { Listener } from '../target.ts';

const resultOf: Readonly<Record<CheckResult, Result>> = {
  [CheckResult.OK]: 'ok',
  [CheckResult.WARNING]: 'warning',
  [CheckResult.FAILED]: 'failed',
  [CheckResult.UNSPECIFIED]: 'warning',
};

/** Each of core's checks ends within 3 seconds. */
const diagnoseDeadlineMs = 8_000;
const readyzDeadlineMs = 5_000;
/** How many abandoned payments are counted. */
const maxAbandoned = 500;
const toleratedClockDifferenceMs = 2_000;
/** The version the project pins. */
const testedNode = 'v24.';

const here = 'this machine';

export function checkNode(version: string): Finding {
  const found = { subject: here, check: 'Node', detail: version };
  if (version.startsWith(testedNode)) return { ...found, result: 'ok', code: 'healthy', advice: '' };
  return {
    ...found,
    result: 'warning',
    code: 'untested_version',
    advice: `this command runs on another Node than the tested ${testedNode}x. Run it with scripts/gatehouse, which uses the Node that npm installed with Gatehouse`,
  };
}

/** The addresses of the cores are missing or invalid. */
export const settingsFailed = (detail: string, advice: string): Finding => ({
  subject: here,
  check: 'settings',
  result: 'failed',
  code: 'invalid_settings',
  detail,
  advice,
});

/** Whether others on the network can read the calls of this machine to a server. There is no finding for calls within the machine. */
export function checkEncryption(subject: string, address: string, hasTls: boolean): readonly Finding[] {
  const found = { subject, check: 'encryption' };
  if (hasTls)
    return [{ ...found, result: 'ok', code: 'healthy', detail: 'calls from here use TLS', advice: '' }];
  if (isLoopback(hostOf(address))) return [];
  return [
    {
      ...found,
      result: 'warning',
      code: 'plaintext',
      detail: 'calls from here travel without TLS, with the service token in them',
      advice:
        'Turn TLS on in every process (docs/operating/tls.md), unless only processes of Gatehouse can reach this network.',
    },
  ];
}

export interface CoreToCheck {
  readonly address: string;
  readonly core: Pick<CoreClients, 'health' | 'diagnostics' | 'wallets' | 'walletStatuses' | 'payerPayments'>;
  readonly now: () => Date;
}

/** Checks one core from this machine, and returns the core's own checks too. Never rejects. */
export async function checkCore(target: CoreToCheck): Promise<readonly Finding[]> {
  let status: ServingStatus;
  try {
    ({ status } = await target.core.health.check({ service: '' }));
  } catch (error) {
    if (!isRefusal(error)) return [failedCall(target, 'reachable', error)];
    return [answered(subjectOf(target)), failedCall(target, 'diagnosis', error)];
  }
  const [diagnosis, wallets, abandoned] = await Promise.allSettled([
    askForDiagnosis(target),
    askForWallets(target),
    askForAbandonedPayments(target),
  ]);
  const findingsOf = (check: string, asked: PromiseSettledResult<readonly Finding[]>): readonly Finding[] => {
    if (asked.status === 'fulfilled') return asked.value;
    // Usually all three fail for the same reason, which is then reported once.
    const isReported = diagnosis.status === 'rejected' && asked !== diagnosis;
    return isReported ? [] : [failedCall(target, check, asked.reason)];
  };
  return [
    judgeStatus(subjectOf(target), status),
    ...findingsOf('diagnosis', diagnosis),
    ...findingsOf('wallet requests', wallets),
    ...findingsOf('payer-started', abandoned),
  ];
}

const subjectOf = ({ address }: CoreToCheck): string => `core ${address}`;

/** The finding of a server that answers, and refuses the token or the certificate. So it does not say whether it is ready. */
export const answered = (subject: string): Finding => ({
  subject,
  check: 'reachable',
  result: 'ok',
  code: 'healthy',
  detail: 'it answers',
  advice: '',
});

/** Whether the server refused the token or the certificate of a call. */
export const isRefusal = (error: unknown): boolean => ConnectError.from(error).code === Code.Unauthenticated;

const failedCall = (target: CoreToCheck, check: string, error: unknown): Finding => ({
  subject: subjectOf(target),
  check,
  ...failedFinding(error, { addresses: [target.address], isDoctor: true }),
});

/** The finding of a failed call: its code is the server's reason, or `unreachable` without one. */
export function failedFinding(error: unknown, context: FailureContext): Omit<Finding, 'subject' | 'check'> {
  const { message, advice, reason = 'unreachable' } = describeFailure(error, context);
  return { result: 'failed', code: reason.toLowerCase(), detail: message, advice };
}

/** The finding from the answer of a server's health service. */
export function judgeStatus(subject: string, status: ServingStatus): Finding {
  const found = { subject, check: 'reachable' };
  if (status === ServingStatus.SERVING)
    return { ...found, result: 'ok', code: 'healthy', detail: 'it answers and is ready', advice: '' };
  return {
    ...found,
    result: 'failed',
    code: 'not_ready',
    detail: 'it answers, but is not ready to serve',
    advice:
      'It is stopping, or has no database connection. Check its database and its log. ' +
      'It recovers without a restart when the database does. If it was stopped, start it again.',
  };
}

async function askForWallets(target: CoreToCheck): Promise<readonly Finding[]> {
  const inTime = { timeoutMs: diagnoseDeadlineMs };
  const [{ wallets }, { statuses }] = await Promise.all([
    target.core.wallets.listWallets({}, inTime),
    target.core.walletStatuses.listWalletStatuses({}, inTime),
  ]);
  const subject = subjectOf(target);
  return [
    ...judgeRequests(subject, wallets, statuses),
    ...judgeClocks(subject, statuses),
    ...judgeStatements(subject, wallets),
  ];
}

async function askForAbandonedPayments(target: CoreToCheck): Promise<readonly Finding[]> {
  const { payerPayments, nextPageToken } = await target.core.payerPayments.listPayerPayments(
    { statuses: [PayerPaymentStatus.ABANDONED], pageSize: maxAbandoned },
    { timeoutMs: diagnoseDeadlineMs },
  );
  return judgeAbandoned(subjectOf(target), payerPayments, nextPageToken !== '');
}

/** Whether this version has words for the check. A core of a later version may send a subject or a finding that is unknown here. */
const hasWords = ({ subject, finding }: Check): boolean =>
  findValue(CheckFindingSchema, finding) !== undefined &&
  findValue(CheckSubjectSchema, subject) !== undefined;

const findValue = ({ values }: DescEnum, number: number): DescEnumValue | undefined =>
  values.find((value) => value.number === number);

/** The value's name in lower case; 'unknown' for a value of a later version. */
export const enumWord = (schema: DescEnum, number: number): string =>
  (findValue(schema, number)?.localName ?? 'unknown').toLowerCase();

async function askForDiagnosis(target: CoreToCheck): Promise<readonly Finding[]> {
  const subject = subjectOf(target);
  const requestedAt = target.now();
  const reply = await target.core.diagnostics.diagnose({}, { timeoutMs: diagnoseDeadlineMs });
  const checks = reply.checks.map((check): Finding => {
    const { name, detail, advice } = hasWords(check) ? checkText(check) : check;
    const code = enumWord(CheckFindingSchema, check.finding);
    return { subject, check: name, result: resultOf[check.result], code, detail, advice };
  });
  return [
    {
      subject,
      check: 'name',
      result: 'ok',
      code: 'healthy',
      detail: `${reply.instance} in its logs`,
      advice: '',
    },
    checkClock(subject, requireField(reply.coreTime), { requestedAt, answeredAt: target.now() }),
    ...checks,
  ];
}

/** Core read its clock between the request and the answer. Only a time outside of that interval is a difference. */
function checkClock(
  subject: string,
  coreTime: Timestamp,
  { requestedAt, answeredAt }: { readonly requestedAt: Date; readonly answeredAt: Date },
): Finding {
  const found = { subject, check: 'clock here' };
  const core = timestampDate(coreTime).getTime();
  const aheadMs = Math.max(requestedAt.getTime() - core, 0);
  const behindMs = Math.max(core - answeredAt.getTime(), 0);
  if (aheadMs + behindMs <= toleratedClockDifferenceMs)
    return {
      ...found,
      result: 'ok',
      code: 'healthy',
      detail: "this machine's clock agrees with the core's",
      advice: '',
    };
  const seconds = ((aheadMs + behindMs) / 1000).toFixed(1);
  return {
    ...found,
    result: 'warning',
    code: 'skewed',
    detail: `this machine's clock is ${seconds} s ${aheadMs > 0 ? 'ahead of' : 'behind'} the core's`,
    advice: 'Synchronise both machines with NTP, so that times on both mean the same.',
  };
}

/** Checks whether a process in front of the cores can serve requests. Never rejects. */
export async function checkReadyz({ name, process, url }: Listener): Promise<Finding> {
  const found = { subject: `${name} ${url}`, check: 'ready' };
  try {
    const response = await fetch(`${url}/readyz`, {
      signal: AbortSignal.timeout(readyzDeadlineMs),
      redirect: 'manual',
    });
    const answer = `/readyz answers ${response.status}`;
    if (response.ok) return { ...found, result: 'ok', code: 'healthy', detail: answer, advice: '' };
    return {
      ...found,
      result: 'failed',
      code: 'not_ready',
      detail: `${answer} ${quote(await response.text(), 200)}`,
      advice: `Check the core first, because this process is ready as soon as it can reach a core. Then read the log of the ${process} process.`,
    };
  } catch (error) {
    if (error instanceof Error && error.name === 'TimeoutError')
      return {
        ...found,
        result: 'failed',
        code: 'no_answer',
        detail: `no answer within ${readyzDeadlineMs / 1000} seconds`,
        advice: `Read the log of the ${process} process. It hangs or is overloaded. Stop it, and start it again.`,
      };
    return { ...found, result: 'failed', code: 'unreachable', ...describeFetchFailure(error, process) };
  }
}

/** The problem of a connection, with advice. A server of the other protocol is not one that is stopped. */
function describeFetchFailure(
  error: unknown,
  process: Listener['process'],
): Pick<Finding, 'detail' | 'advice'> {
  const { code = '', message = '' }: { code?: string; message?: string } =
    error instanceof Error && error.cause instanceof Error ? error.cause : {};
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER')
    return { detail: 'no answer: it speaks no TLS', advice: 'Give its address with http:' };
  if (/CERT|VERIFY|SELF_SIGNED/.test(code))
    return {
      detail: `no answer: its TLS certificate is not accepted (${message})`,
      advice:
        'Give the address that the certificate names. If an authority of your own has issued it, set NODE_EXTRA_CA_CERTS to the file of that authority.',
    };
  const start = `Start the ${process} process (npm start, or with systemd: systemctl start gatehouse@${process}), or give the right address.`;
  return {
    detail: `no answer${causeOf(error)}`,
    advice: code === 'UND_ERR_SOCKET' ? 'If it speaks TLS, give its address with https:' : start,
  };
}

/** The cause of a fetch error holds its reason. */
function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return '';
  const { message } = error.cause instanceof Error ? error.cause : error;
  return message === '' ? '' : `: ${message}`;
}
