import { timestampDate } from '@bufbuild/protobuf/wkt';
import { findingText } from '../contract/finding-text.ts';
import type { Timestamp } from '@bufbuild/protobuf/wkt';
import type { GetPipelineStatusResponse } from '../gen/gatehouse/v1/webhook_service_pb.js';
import { judgeStatus } from './doctor-checks.ts';
import type { Finding, Result } from './doctor-checks.ts';
import { describeFailure } from './failure.ts';
import { showDuration } from './time.ts';
import type { WebhookClients } from './webhook-clients.ts';

/** One webhooks process to look at. */
export interface WebhooksToCheck {
  readonly address: string;
  readonly clients: WebhookClients;
  readonly now: () => Date;
}

/** It may ask core, and count. */
const statusDeadlineMs = 8_000;
/** A delivery to an open endpoint is sent within a second, unless there are more than the processes can send. */
const toleratedWaitMs = 30_000;
const toleratedLag = 1_000;
const toleratedReconcileAgeMs = 60 * 60_000;

/** Looks at one webhooks process from here, and asks it how the pipeline is doing. Never rejects. */
export async function checkWebhooks(target: WebhooksToCheck): Promise<readonly Finding[]> {
  const subject = `webhooks ${target.address}`;
  const failedCall = (check: string, error: unknown): Finding => {
    const context = {
      addresses: [target.address],
      server: 'webhooks process',
      isDoctor: true,
    } as const;
    const { message, advice } = describeFailure(error, context);
    return { subject, check, result: 'failed', detail: message, advice };
  };
  let reachable: Finding;
  try {
    const { status } = await target.clients.health.check({ service: '' });
    reachable = judgeStatus(subject, status);
  } catch (error) {
    return [failedCall('reachable', error)];
  }
  try {
    const status = await target.clients.webhooks.getPipelineStatus({}, { timeoutMs: statusDeadlineMs });
    const now = target.now();
    const judged = judgements.map(([check, judge]): Finding => {
      const [result, detail, advice = ''] = judge(status, now);
      return { subject, check, result, detail, advice };
    });
    return [reachable, ...judged];
  } catch (error) {
    return [reachable, failedCall('pipeline', error)];
  }
}

type Judgement = readonly [result: Result, detail: string, advice?: string];
type Judge = (status: GetPipelineStatusResponse, now: Date) => Judgement;

const ageMs = (time: Timestamp | undefined, now: Date): number =>
  time === undefined ? 0 : Math.max(0, now.getTime() - timestampDate(time).getTime());

const seconds = (ms: number): string => `${Math.round(ms / 1000)} s`;

const counted = (count: bigint, one: string, several = `${one}s`): string =>
  `${count} ${count === 1n ? one : several}`;

const judgeBroker: Judge = ({ isBrokerConnected }) =>
  isBrokerConnected
    ? ['ok', 'connected to NATS']
    : [
        'warning',
        'not connected to NATS',
        'check GATEHOUSE_NATS_URL, and that nats-server runs with JetStream. Webhooks continue, some seconds later',
      ];

const judgeIntake: Judge = ({ isTakingIn, intakeTime, eventLag }, now) => {
  if (!isTakingIn)
    return [
      'failed',
      intakeTime === undefined
        ? 'no process has ingested an event yet'
        : `no process has ingested events for ${seconds(ageMs(intakeTime, now))}`,
      "look for 'ingesting events' in the logs of the webhooks processes. They need core and their database. " +
        'No event is lost',
    ];
  if (eventLag === undefined)
    return [
      'warning',
      'the number of events not ingested yet is unknown',
      'core does not answer the webhooks process: check core first',
    ];
  const seen =
    eventLag === 0n ? 'every event has been ingested' : `${counted(eventLag, 'event')} not ingested yet`;
  if (eventLag <= toleratedLag) return ['ok', seen];
  return [
    'warning',
    seen,
    'it is catching up. Check again in a minute, and read the log if the number has grown',
  ];
};

const judgeDeliveries: Judge = ({ dueCount, oldestDueTime, pendingCount }, now) => {
  const waitedMs = ageMs(oldestDueTime, now);
  const seen =
    dueCount === 0n
      ? `none due, ${pendingCount} pending`
      : `${dueCount} due, the oldest for ${seconds(waitedMs)}; ${pendingCount} pending in all`;
  if (waitedMs <= toleratedWaitMs) return ['ok', seen];
  return [
    'warning',
    seen,
    'more deliveries are due than are sent. Check that all webhooks processes run, and start another one if they do',
  ];
};

const judgeAbandoned: Judge = ({ givenUpCount, givenUpTestCount, shortestTried, longestTried }) => {
  const count = givenUpCount - givenUpTestCount;
  const tests = givenUpTestCount === 0n ? '' : `; and ${counted(givenUpTestCount, 'test')}`;
  if (count === 0n) return ['ok', `none in the last 24 hours${tests}`];
  const spans = [shortestTried, longestTried].flatMap((span) =>
    span === undefined ? [] : [showDuration(span)],
  );
  const tried = spans.length === 0 ? '' : `, tried for ${[...new Set(spans)].join(' to ')}`;
  return [
    'warning',
    `${count} in the last 24 hours${tried}${tests}`,
    'inform the merchants, and send the deliveries again when they are ready:\ngatehouse webhook redeliver <merchant_id> --since <time>',
  ];
};

const judgeEndpoints: Judge = ({ restingEndpoints, pausedEndpoints }) => {
  const seen = `${pausedEndpoints} paused, ${restingEndpoints} with an open circuit after failures`;
  if (pausedEndpoints === 0n) return ['ok', seen];
  return [
    'warning',
    seen,
    'nothing is sent to a paused endpoint. See them, and resume each when its receiver works:\ngatehouse webhook endpoints --trouble\ngatehouse webhook resume <merchant_id> <endpoint>',
  ];
};

const judgeSecrets: Judge = ({ secretsWithOldKey }) =>
  secretsWithOldKey === 0n
    ? ['ok', 'all are encrypted with the first key of GATEHOUSE_WEBHOOK_SECRET_KEYS']
    : [
        'warning',
        `${secretsWithOldKey} still encrypted with an older key`,
        'keep the older keys in GATEHOUSE_WEBHOOK_SECRET_KEYS until the number is 0, which takes a minute. If it does not fall, a key is missing there, and the log of webhooks names it',
      ];

/** A webhooks process of the version before sends only the words. */
const gapTexts = ({ findings, gaps }: GetPipelineStatusResponse): readonly string[] =>
  findings.length === 0 ? gaps : findings.map(findingText);

const judgeReconciler: Judge = (status, now) => {
  const { reconcileTime, repairedCount } = status;
  const found = gapTexts(status);
  if (found.length > 0)
    return [
      'failed',
      `it could not repair what it found in the last 24 hours: ${found.join('; ')}`,
      'check each order, and its deliveries:\ngatehouse order show <merchant_id> <order_id>\ngatehouse webhook deliveries <merchant_id>',
    ];
  const age = ageMs(reconcileTime, now);
  if (age > toleratedReconcileAgeMs)
    return ['warning', `it last finished ${seconds(age)} ago`, "look for 'reconciling' in the logs"];
  if (repairedCount > 0n)
    return [
      'warning',
      `it created ${counted(repairedCount, 'missing delivery', 'missing deliveries')} in the last 24 hours`,
      'none is missing now. Find the reason in the logs of that time',
    ];
  return [
    'ok',
    reconcileTime === undefined ? 'it has not run yet' : `nothing missing; it finished ${seconds(age)} ago`,
  ];
};

const judgements: readonly (readonly [check: string, judge: Judge])[] = [
  ['broker', judgeBroker],
  ['event intake', judgeIntake],
  ['deliveries', judgeDeliveries],
  ['abandoned', judgeAbandoned],
  ['endpoints', judgeEndpoints],
  ['signing secrets', judgeSecrets],
  ['reconciler', judgeReconciler],
];
