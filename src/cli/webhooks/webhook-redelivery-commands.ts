import { Argument } from 'commander';
import type { Command } from 'commander';
import { targetOf } from '../../contract/explanation-text.ts';
import { Environment } from '../../gen/gatehouse/v1/order_pb.js';
import { DeliverySchema, RedeliverySchema } from '../../gen/gatehouse/v1/webhook_service_pb.js';
import type { DeliveryState, Redelivery } from '../../gen/gatehouse/v1/webhook_service_pb.js';
import { pause } from '../../platform/pause.ts';
import { CliError, exitCodes } from '../cli-error.ts';
import { describeDelivery } from './delivery-story.ts';
import { momentOption, timestampOf } from '../moment.ts';
import type { Moment } from '../moment.ts';
import {
  deliveryStatesOption,
  deliveryStateTerm,
  environmentOption,
  environmentWord,
  showEnvironment,
} from '../options.ts';
import { requireField } from '../output.ts';
import type { Output } from '../output.ts';
import { plainJson } from '../plain-json.ts';
import { fields } from '../table.ts';
import { showTime } from '../time.ts';
import type { WebhookClients } from './webhook-clients.ts';
import type { WebhookParts } from './webhook-parts.ts';
import { onMerchantAnd } from '../merchant-argument.ts';

interface RedeliverOptions {
  readonly since?: Moment;
  readonly until?: Moment;
  readonly state?: readonly DeliveryState[];
  readonly environment?: Environment;
}

type Webhooks = WebhookClients['webhooks'];

/** The interval between checks grows. A few deliveries are sent within a second. */
const firstWaitMs = 250;
const longestWaitMs = 2_000;
/** The wait for pending deliveries ends after this time without a result, because their receivers do not answer. */
const patienceMs = 5_000;

/** `webhook redeliver` and `webhook redelivery` */
export function addRedeliveryCommands(webhook: Command, parts: WebhookParts): void {
  const { run, findMerchant } = parts;
  onMerchantAnd(
    webhook
      .command('redeliver')
      .description("send one delivery again, or a merchant's abandoned deliveries since a given time")
      .addOption(
        momentOption(
          '--since <time>',
          'deliveries created at this time (UTC) or later; 7d: in the last 7 days. A delivery is usually abandoned more than three days after its creation',
        ),
      )
      .addOption(
        momentOption(
          '--until <time>',
          'with --since: only deliveries created before this time; default: now',
        ),
      )
      .addOption(deliveryStatesOption('with --since (default: abandoned): only deliveries in these states'))
      .addOption(environmentOption('; with --since, default: sandbox')),
    new Argument('[delivery_id]', 'whd_…'),
    findMerchant,
    (merchantId: string, deliveryId: string | undefined, options: RedeliverOptions) => {
      const { since, ...others } = options;
      if (deliveryId !== undefined && since === undefined && Object.keys(others).length === 0)
        return run(({ webhooks }) => redeliverOne(webhooks, merchantId, deliveryId));
      if (deliveryId !== undefined || since === undefined) throw eitherOne();
      return run(({ webhooks }) => redeliverMany(webhooks, merchantId, { ...others, since }, parts));
    },
  );

  onMerchantAnd(
    webhook.command('redelivery').description('show the progress of a redelivery'),
    new Argument('<redelivery_id>', 'whr_…'),
    findMerchant,
    (merchantId: string, redeliveryId: string) =>
      run(async ({ webhooks }) => {
        const { redelivery } = await webhooks.getRedelivery({ merchantId, redeliveryId });
        return describeRedelivery(requireField(redelivery));
      }),
  );
}

const eitherOne = (): CliError =>
  new CliError(
    exitCodes.invalidInput,
    'the command needs either one delivery without options, or --since',
    [
      'One delivery: gatehouse webhook redeliver <merchant_id> <delivery_id>, without options.',
      'All since a time: gatehouse webhook redeliver <merchant_id> --since <time> --environment <environment>. Select with --until and --state.',
    ].join('\n'),
  );

async function redeliverOne(webhooks: Webhooks, merchantId: string, deliveryId: string): Promise<Output> {
  const delivery = requireField((await webhooks.redeliverDelivery({ merchantId, deliveryId })).delivery);
  return {
    json: plainJson(DeliverySchema, delivery),
    text: (width) =>
      [
        describeDelivery(delivery, width),
        `It is sent now, or when its ${targetOf(delivery)} is resumed or the circuit closes. If that fails, it is sent again on a new schedule.\nSee the result:\ngatehouse webhook show ${merchantId} ${deliveryId}`,
      ].join('\n\n'),
  };
}

async function redeliverMany(
  webhooks: Webhooks,
  merchantId: string,
  options: RedeliverOptions & { readonly since: Moment },
  { now, report, note, interruption }: WebhookParts,
): Promise<Output> {
  const { since, until, state = [], environment = Environment.SANDBOX } = options;
  const started = await webhooks.startRedelivery({
    merchantId,
    environment,
    states: [...state],
    createTimeFrom: timestampOf(since, now()),
    ...(until && { createTimeTo: timestampOf(until, now()) }),
  });
  const first = requireField(started.redelivery);
  report(
    [
      `Sending again ${redeliveryTitle(first)} (${first.redeliveryId})`,
      'Ctrl-C ends this command. The redelivery continues. To check it again:',
      checkAgain(first),
    ].join('\n'),
  );
  try {
    return describeRedelivery(await followRedelivery(webhooks, first, report, interruption()));
  } catch (error) {
    // It continues. Without its id, a script would start a second one, which sends the deliveries once more.
    const { redeliveryId } = first;
    note(`The redelivery_id is ${redeliveryId}`, { redelivery_id: redeliveryId });
    throw error;
  }
}

/**
 * Checks until all deliveries are pending again and none has a new result, or until `enough` aborts. Returns the latest
 * state.
 */
async function followRedelivery(
  webhooks: Webhooks,
  first: Redelivery,
  report: (line: string) => void,
  enough: AbortSignal,
): Promise<Redelivery> {
  const { merchantId, redeliveryId } = first;
  let seen = first;
  let quietMs = 0;
  const isEnough = (): boolean => enough.aborted;
  for (let waitMs = firstWaitMs; !isEnough(); waitMs = Math.min(waitMs * 1.5, longestWaitMs)) {
    await pause(waitMs, enough);
    if (isEnough()) return seen;
    const latest = requireField((await webhooks.getRedelivery({ merchantId, redeliveryId })).redelivery);
    const hasChanged = showCounts(latest) !== showCounts(seen);
    if (hasChanged) report(`  ${showCounts(latest)}`);
    quietMs = hasChanged ? 0 : quietMs + waitMs;
    seen = latest;
    if (seen.endTime !== undefined && (seen.pendingCount === 0n || quietMs >= patienceMs)) return seen;
  }
  return seen;
}

const checkAgain = ({ merchantId, redeliveryId }: Redelivery): string =>
  `gatehouse webhook redelivery ${merchantId} ${redeliveryId}`;

const showCounts = (redelivery: Redelivery): string => {
  const { redeliveredCount, deliveredCount, pendingCount, givenUpCount } = redelivery;
  const parts = [
    `${redeliveredCount} made pending again`,
    `${deliveredCount} of them delivered`,
    `${pendingCount} pending`,
    ...(givenUpCount === 0n ? [] : [`${givenUpCount} abandoned again`]),
  ];
  return parts.join(', ');
};

/** As in "abandoned deliveries in SANDBOX since 2026-01-31T00:00:00Z". */
const redeliveryTitle = ({ states, environment, createTimeFrom }: Redelivery): string => {
  const words = states.map(deliveryStateTerm).join(' or ');
  return `${words} deliveries in ${showEnvironment(environment)} since ${showTime(createTimeFrom)}`;
};

function describeRedelivery(redelivery: Redelivery): Output {
  const { endTime, pendingCount, redeliveredCount } = redelivery;
  const summary = (width: number): string =>
    fields(
      [
        ['Redelivery', redelivery.redeliveryId],
        ['Selected', redeliveryTitle(redelivery)],
        ['Until', showTime(redelivery.createTimeTo)],
        ['Merchant', redelivery.merchantId],
        ['Started', showTime(redelivery.createTime)],
        ['Ended', showTime(endTime, 'not yet')],
        ['Made pending', String(redeliveredCount)],
        ['Delivered', String(redelivery.deliveredCount)],
        ['Pending', String(pendingCount)],
        ['Abandoned again', String(redelivery.givenUpCount)],
      ],
      width,
    );
  return {
    json: plainJson(RedeliverySchema, redelivery),
    text: (width) => `${summary(width)}\n\n${nextStep(redelivery)}`,
  };
}

function nextStep(redelivery: Redelivery): string {
  const { endTime, pendingCount, redeliveredCount, merchantId } = redelivery;
  if (endTime === undefined)
    return `It continues in the background. To check it again:\n${checkAgain(redelivery)}`;
  if (redeliveredCount === 0n)
    return `No delivery was sent again. See the deliveries:\ngatehouse webhook deliveries ${merchantId} --environment ${environmentWord(redelivery.environment)}`;
  if (pendingCount === 0n) return 'All of them were delivered or abandoned.';
  return [
    'Pending ones are sent on schedule. To see what delays them:',
    `gatehouse webhook hosts ${merchantId} --inactive`,
    'To check it again:',
    checkAgain(redelivery),
  ].join('\n');
}
