import { Argument, Option } from 'commander';
import type { Command } from 'commander';
import { Environment } from '../../gen/gatehouse/v1/order_pb.js';
import { shellWord } from '../../contract/shell-word.ts';
import {
  EndpointSchema,
  EndpointState,
  EndpointStateSchema,
} from '../../gen/gatehouse/v1/webhook_service_pb.js';
import type { Endpoint } from '../../gen/gatehouse/v1/webhook_service_pb.js';
import { readEndpoint } from './endpoint.ts';
import {
  environmentOption,
  environmentFilter,
  environmentWord,
  limitOption,
  pageTokenOption,
  showEnvironment,
} from '../options.ts';
import { requireField } from '../output.ts';
import type { Output } from '../output.ts';
import { collectPages, isEmptyList, showMore } from '../paging.ts';
import type { PageOptions } from '../paging.ts';
import { plainJson, wordOf } from '../plain-json.ts';
import { fields, table } from '../table.ts';
import { showTime } from '../time.ts';
import type { WebhookClients } from './webhook-clients.ts';
import type { WebhookParts } from './webhook-parts.ts';
import { onAnyMerchant, onMerchantAnd } from '../merchant-argument.ts';

interface ListOptions extends PageOptions {
  readonly environment?: Environment;
  readonly inactive?: true;
  /** The former name of `inactive`. */
  readonly trouble?: true;
}

interface ChangeOptions {
  readonly environment: Environment;
  readonly reason?: string;
}

/** `webhook hosts`, `webhook pause` and `webhook resume` */
export function addHostCommands(webhook: Command, parts: WebhookParts): void {
  const { run, findMerchant } = parts;
  onAnyMerchant(
    webhook
      .command('hosts')
      .alias('endpoints')
      .description(
        'list webhook endpoints and the hosts of webhook_urls: first paused ones, then those with an open circuit',
      )
      .option('--inactive', 'only hosts and endpoints that are paused or whose circuit is open')
      .addOption(new Option('--trouble').hideHelp())
      .addOption(environmentFilter())
      .addOption(limitOption())
      .addOption(pageTokenOption()),
    'mer_…; default: all merchants',
    ({ merchant = '', ...options }: ListOptions & { merchant?: string }) =>
      run(({ webhooks }) => listHosts(webhooks, merchant, options, parts)),
  );

  onMerchantAnd(
    webhook
      .command('pause')
      .description(
        'pause a host of webhook_urls: send it nothing until you resume it; its deliveries are kept',
      )
      .addOption(environmentOption().default(Environment.SANDBOX, 'sandbox'))
      .option('--reason <text>', 'the reason, shown with the host'),
    new Argument('<host>', 'scheme, host and port, or a whole webhook_url').argParser(readEndpoint),
    findMerchant,
    (merchantId: string, endpoint: string, { environment, reason = '' }: ChangeOptions) =>
      run(async ({ webhooks }) => {
        const reply = await webhooks.pauseEndpoint({ merchantId, environment, endpoint, reason });
        const paused = requireField(reply.endpoint);
        return describeHost(
          paused,
          `Nothing is sent there, and no delivery is abandoned, until it is resumed:\n${resumeCommand(paused)}`,
        );
      }),
  );

  onMerchantAnd(
    webhook
      .command('resume')
      .description('end the pause of a host of webhook_urls or close its circuit, and send to it now')
      .addOption(environmentOption().default(Environment.SANDBOX, 'sandbox')),
    new Argument('<host>', 'scheme, host and port, or a whole webhook_url').argParser(readEndpoint),
    findMerchant,
    (merchantId: string, endpoint: string, { environment }: ChangeOptions) =>
      run(async ({ webhooks }) => {
        const reply = await webhooks.resumeEndpoint({ merchantId, environment, endpoint });
        const resumed = requireField(reply.endpoint);
        const next =
          resumed.pendingCount === 0n
            ? 'No delivery is pending. New deliveries are sent at once.'
            : `Due deliveries are sent now. Failed ones are sent again when they are next due. To follow them:\ngatehouse webhook deliveries ${merchantId} --host ${shellWord(endpoint)} --environment ${environmentWord(resumed.environment)}`;
        return describeHost(resumed, next);
      }),
  );
}

const resumeCommand = (endpoint: Endpoint): string =>
  `gatehouse webhook resume ${endpoint.merchantId} ${shellWord(endpoint.endpoint)} --environment ${environmentWord(endpoint.environment)}`;

/** The state of a host or webhook endpoint, and its reason. */
export function showTreatment({ state, pauseReason, consecutiveFailures, probeTime }: Endpoint): string {
  if (state === EndpointState.PAUSED) return pauseReason === '' ? 'paused' : `paused: ${pauseReason}`;
  if (state === EndpointState.RESTING)
    return `circuit open after ${consecutiveFailures} failures in a row, probed from ${showTime(probeTime)} on`;
  if (state === EndpointState.OPEN) return 'active';
  return wordOf(EndpointStateSchema, state) ?? '';
}

async function listHosts(
  webhooks: WebhookClients['webhooks'],
  merchantId: string,
  options: ListOptions,
  { refuseUnknownMerchant }: WebhookParts,
): Promise<Output> {
  const { environment = Environment.UNSPECIFIED, inactive, trouble } = options;
  const onlyInactive = inactive ?? trouble ?? false;
  const page = await collectPages(options, async (request) => {
    const reply = await webhooks.listEndpoints({
      ...request,
      merchantId,
      environment,
      onlyInTrouble: onlyInactive,
      includeWebhookEndpoints: true,
    });
    return { items: reply.endpoints, nextPageToken: reply.nextPageToken };
  });
  if (isEmptyList(page, options)) await refuseUnknownMerchant(merchantId);
  const columns = [
    { head: 'HOST, MERCHANT' },
    { head: 'ENVIRONMENT' },
    { head: 'WAITING', right: true },
    { head: 'STATE, LAST RESULT', wraps: true },
  ];
  const rows = page.items.map((endpoint) => [
    [endpoint.endpoint, endpoint.webhookEndpointId, endpoint.merchantId]
      .filter((line) => line !== '')
      .join('\n'),
    environmentWord(endpoint.environment),
    String(endpoint.pendingCount),
    `${showTreatment(endpoint)}\n${showLastResult(endpoint)}`,
  ]);
  const nothing = onlyInactive ? 'No host is paused or has an open circuit' : 'There are no hosts';
  const who = merchantId === '' ? '' : ` of merchant ${merchantId}`;
  return {
    json: {
      endpoints: page.items.map((endpoint) => plainJson(EndpointSchema, endpoint)),
      next_page_token: page.nextPageToken,
    },
    text: (width) =>
      rows.length === 0
        ? `${nothing} in ${showEnvironment(environment)}${who}`
        : `${table(columns, rows, width)}${adviseOn(page.items)}${showMore(page)}`,
  };
}

/** The result of the latest attempt, and its time. */
export function showLastResult({ lastResult, lastSuccessTime, lastFailureTime }: Endpoint): string {
  if (lastResult === '') return 'nothing sent yet';
  const times = [showTime(lastSuccessTime), showTime(lastFailureTime)].sort();
  return `${lastResult}  ${times.at(-1) ?? ''}`;
}

function adviseOn(endpoints: readonly Endpoint[]): string {
  if (endpoints.every(({ state }) => state === EndpointState.OPEN)) return '';
  return [
    '\n\nAn open circuit is probed automatically. To resume once the receiver works:',
    `gatehouse webhook resume <merchant_id> <host> --environment <environment>`,
    `gatehouse webhook endpoint resume <merchant_id> <endpoint_id>`,
  ].join('\n');
}

const describeHost = (endpoint: Endpoint, next: string): Output => ({
  json: plainJson(EndpointSchema, endpoint),
  text: (width) =>
    [
      fields(
        [
          ['Host', endpoint.endpoint],
          ['Merchant', endpoint.merchantId],
          ['Environment', showEnvironment(endpoint.environment)],
          ['State', showTreatment(endpoint)],
          ['Waiting', String(endpoint.pendingCount)],
          ['Last result', endpoint.lastResult],
          ['Last success', showTime(endpoint.lastSuccessTime, 'never')],
          ['Last failure', showTime(endpoint.lastFailureTime, 'never')],
        ],
        width,
      ),
      next,
    ].join('\n\n'),
});
