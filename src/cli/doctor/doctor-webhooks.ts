import { timestampDate } from '@bufbuild/protobuf/wkt';
import { counted } from '../../contract/counted.ts';
import { findingText } from '../../contract/finding-text.ts';
import type { Timestamp } from '@bufbuild/protobuf/wkt';
import { ReconcilerFindingCodeSchema } from '../../gen/gatehouse/v1/webhook_service_pb.js';
import type { GetPipelineStatusResponse } from '../../gen/gatehouse/v1/webhook_service_pb.js';
import { answered, enumWord, failedFinding, isRefusal, judgeStatus } from './doctor-checks.ts';
import type { Finding } from './doctor-finding.ts';
import { showDuration, showTime } from '../time.ts';
import type { WebhookClients } from '../webhooks/webhook-clients.ts';

/** A `webhooks` process to check. */
export interface WebhooksToCheck {
  readonly address: string;
  readonly clients: WebhookClients;
  readonly now: () => Date;
}

/** The process calls core and counts rows. */
const statusDeadlineMs = 8_000;
/** A delivery to an open endpoint is sent within a second, unless there are more than the processes can send. */
const toleratedWaitMs = 30_000;
const toleratedLag = 1_000;
const toleratedReconcileAgeMs = 60 * 60_000;

/** Checks one webhooks process from this machine, and the state of the pipeline. Never rejects. */
export async function checkWebhooks(target: WebhooksToCheck): Promise<readonly Finding[]> {
  const subject = `webhooks ${target.address}`;
  const failedCall = (check: string, error: unknown): Finding => {
    const context = {
      addresses: [target.address],
      server: 'webhooks process',
      isDoctor: true,
    } as const;
    return { subject, check, ...failedFinding(error, context) };
  };
  let reachable: Finding;
  try {
    const { status } = await target.clients.health.check({ service: '' });
    reachable = judgeStatus(subject, status);
  } catch (error) {
    if (!isRefusal(error)) return [failedCall('reachable', error)];
    return [answered(subject), failedCall('pipeline', error)];
  }
  try {
    const status = await target.clients.webhooks.getPipelineStatus({}, { timeoutMs: statusDeadlineMs });
    const now = target.now();
    const judged = judgements.map(([check, judge]): Finding => {
      return { subject, check, ...judge(status, now) };
    });
    return [reachable, ...judged];
  } catch (error) {
    return [reachable, failedCall('pipeline', error)];
  }
}

type Judgement = Omit<Finding, 'subject' | 'check'>;
type Judge = (status: GetPipelineStatusResponse, now: Date) => Judgement;

const healthy = (detail: string): Judgement => ({ result: 'ok', code: 'healthy', detail, advice: '' });

const ageMs = (time: Timestamp | undefined, now: Date): number =>
  time === undefined ? 0 : Math.max(0, now.getTime() - timestampDate(time).getTime());

const seconds = (ms: number): string => `${Math.round(ms / 1000)} s`;

const judgeBroker: Judge = ({ isBrokerConnected }) =>
  isBrokerConnected
    ? healthy('connected to NATS')
    : {
        result: 'warning',
        code: 'disconnected',
        detail: 'NATS is not connected, or does not answer',
        advice:
          'check GATEHOUSE_NATS_URL, that nats-server runs with JetStream, and its log. Webhooks are still sent, some seconds late',
      };

const judgeIntake: Judge = ({ isTakingIn, intakeTime, eventLag }, now) => {
  if (!isTakingIn)
    return {
      result: 'failed',
      code: 'not_ingesting',
      detail:
        intakeTime === undefined
          ? 'no process has ingested an event yet'
          : `no process has ingested events for ${seconds(ageMs(intakeTime, now))}`,
      advice:
        "look for 'ingesting events' in the logs of the webhooks processes. They need core and their database. " +
        'No event is lost',
    };
  if (eventLag === undefined)
    return {
      result: 'warning',
      code: 'lag_unknown',
      detail: 'the number of events not ingested yet is unknown',
      advice: 'core does not answer the webhooks process: check core first',
    };
  const detail =
    eventLag === 0n ? 'every event has been ingested' : `${counted(eventLag, 'event')} not ingested yet`;
  if (eventLag <= toleratedLag) return healthy(detail);
  return {
    result: 'warning',
    code: 'late',
    detail,
    advice: 'it is catching up. Check again in a minute, and read the log if the number has grown',
  };
};

const judgeDeliveries: Judge = ({ dueCount, oldestDueTime, pendingCount }, now) => {
  const waitedMs = ageMs(oldestDueTime, now);
  const detail =
    dueCount === 0n
      ? `none due, ${pendingCount} pending`
      : `${dueCount} due, ${oldestDueTime === undefined ? 'which are being sent' : `the oldest for ${seconds(waitedMs)}`}; ${pendingCount} pending in all`;
  if (waitedMs <= toleratedWaitMs) return healthy(detail);
  return {
    result: 'warning',
    code: 'late',
    detail,
    advice:
      'more deliveries are due than are sent. Check that all webhooks processes run, and start another one if they do',
  };
};

const judgeAbandoned: Judge = ({ givenUpCount, givenUpTestCount, shortestTried, longestTried }) => {
  const count = givenUpCount - givenUpTestCount;
  const tests = givenUpTestCount === 0n ? '' : `; and ${counted(givenUpTestCount, 'test')}`;
  if (count === 0n) return healthy(`none in the last 24 hours${tests}`);
  const spans = [shortestTried, longestTried].flatMap((span) =>
    span === undefined ? [] : [showDuration(span)],
  );
  const tried = spans.length === 0 ? '' : `, tried for ${[...new Set(spans)].join(' to ')}`;
  return {
    result: 'warning',
    code: 'abandoned',
    detail: `${count} in the last 24 hours${tried}${tests}`,
    advice:
      'inform the merchants, and send the deliveries again when they are ready:\ngatehouse webhook redeliver <merchant_id> --since 7d --environment <environment>',
  };
};

const judgeEndpoints: Judge = ({ restingEndpoints, pausedEndpoints }) => {
  const detail = `${pausedEndpoints} paused, ${restingEndpoints} with an open circuit after failures`;
  if (pausedEndpoints === 0n) return healthy(detail);
  return {
    result: 'warning',
    code: 'paused',
    detail,
    advice:
      'nothing is sent to a paused host or webhook endpoint. See them, and resume each when its receiver works:\ngatehouse webhook hosts --inactive\ngatehouse webhook resume <merchant_id> <host> --environment <environment>\ngatehouse webhook endpoint resume <merchant_id> <endpoint_id>',
  };
};

const judgeSecrets: Judge = ({ secretsWithOldKey }) =>
  secretsWithOldKey === 0n
    ? healthy('all are encrypted with the first key of GATEHOUSE_WEBHOOK_SECRET_KEYS')
    : {
        result: 'warning',
        code: 'old_key',
        detail: `${secretsWithOldKey} still encrypted with an older key, or with another value of the first key`,
        advice:
          'keep the older keys in GATEHOUSE_WEBHOOK_SECRET_KEYS until the number is 0, which takes a minute. If it does not fall, a key is missing there or has another value than before, and nothing is signed with those secrets. The log of webhooks names the key',
      };

const judgeAwaitedSecrets: Judge = ({ awaitedSecretCount }) =>
  awaitedSecretCount === 0n
    ? healthy('no delivery waits for a signing secret')
    : {
        result: 'warning',
        code: 'secret_not_shown',
        detail: `deliveries to ${counted(awaitedSecretCount, 'receiver')} wait until a signing secret is shown`,
        advice:
          'each merchant can create it in the dashboard. The first command lists merchants with waiting deliveries. The second one shows what waits, and the command that creates the secret:\ngatehouse webhook hosts\ngatehouse webhook endpoint list <merchant_id>',
      };

const judgeReconciler: Judge = (status, now) => {
  const { reconcileTime, unreconciledSinceTime, repairedCount } = status;
  const found = status.findings.map(findingText);
  if (found.length > 0)
    return {
      result: 'failed',
      code: 'unrepaired',
      detail: `in the last 24 hours it found problems that it could not repair: ${found.join('; ')}`,
      advice:
        'check each order, and its deliveries:\ngatehouse order show <merchant_id> <order_id> --environment <environment>\ngatehouse webhook deliveries <merchant_id> --order <order_id> --environment <environment>',
      findings: status.findings.map((finding) => ({
        code: enumWord(ReconcilerFindingCodeSchema, finding.code),
        find_time: showTime(finding.findTime),
        merchant_id: finding.merchantId,
        order_id: finding.orderId,
        event_id: finding.eventId,
      })),
    };
  const age = ageMs(reconcileTime ?? unreconciledSinceTime, now);
  if (age > toleratedReconcileAgeMs)
    return {
      result: 'warning',
      code: 'late',
      detail:
        reconcileTime === undefined
          ? `it has never finished, and the process started ${seconds(age)} ago`
          : `it last finished ${seconds(age)} ago`,
      advice: "look for 'reconciling' in the logs",
    };
  if (repairedCount > 0n)
    return {
      result: 'warning',
      code: 'repaired',
      detail: `it created ${counted(repairedCount, 'missing delivery', 'missing deliveries')} in the last 24 hours`,
      advice: 'none is missing now. Find the reason in the logs of that time',
    };
  return healthy(
    reconcileTime === undefined ? 'it has not run yet' : `nothing missing; it finished ${seconds(age)} ago`,
  );
};

const judgements: readonly (readonly [check: string, judge: Judge])[] = [
  ['broker', judgeBroker],
  ['event intake', judgeIntake],
  ['deliveries', judgeDeliveries],
  ['abandoned', judgeAbandoned],
  ['endpoints', judgeEndpoints],
  ['signing secrets', judgeSecrets],
  ['awaited secrets', judgeAwaitedSecrets],
  ['reconciler', judgeReconciler],
];
