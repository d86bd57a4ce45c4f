import { Argument, InvalidArgumentError, Option } from 'commander';
import type { Command } from 'commander';
import { Environment } from '../../gen/gatehouse/v1/order_pb.js';
import {
  AwaitedSecretSchema,
  WebhookEndpointSchema,
} from '../../gen/gatehouse/v1/webhook_endpoint_service_pb.js';
import type { AwaitedSecret, WebhookEndpoint } from '../../gen/gatehouse/v1/webhook_endpoint_service_pb.js';
import { counted } from '../../contract/counted.ts';
import {
  environmentOption,
  environmentFilter,
  environmentOrSandbox,
  environmentWord,
  showEnvironment,
} from '../options.ts';
import { requireField } from '../output.ts';
import type { Output } from '../output.ts';
import { plainJson } from '../plain-json.ts';
import { fields, printable, table } from '../table.ts';
import { showTime } from '../time.ts';
import { showLastResult, showTreatment } from './webhook-host-commands.ts';
import { addEndpointSecretCommands } from './webhook-endpoint-secret-commands.ts';
import { showAwaited } from './webhook-awaited-secrets.ts';
import type { WebhookParts } from './webhook-parts.ts';
import { reportTest } from './webhook-test-command.ts';
import { onMerchant, onMerchantAnd } from '../merchant-argument.ts';

interface CreateOptions {
  readonly environment: Environment;
  readonly url: string;
  readonly description?: string;
  readonly types?: readonly string[];
  /** False with `--no-secret`. */
  readonly secret: boolean;
}

interface UpdateOptions {
  readonly url?: string;
  readonly description?: string;
  readonly types?: readonly string[];
}

/** `webhook endpoint …` */
export function addWebhookEndpointCommands(webhook: Command, parts: WebhookParts): void {
  const endpoint = webhook
    .command('endpoint')
    .description('manage the URLs that receive the events of all orders of a merchant');
  addReadingCommands(endpoint, parts);
  addChangingCommands(endpoint, parts);
  addEndpointSecretCommands(endpoint, parts);
}

/** The argument that names a webhook endpoint. */
const endpointArgument = (): Argument => new Argument('<endpoint_id>', 'whe_…');

/** `note`: an addition to the help, such as the default. */
const typesOption = (note = ''): Option =>
  new Option(
    '--types <list>',
    `the types of event that it receives, such as order.completed,refund.completed; all: every type${note}`,
  ).argParser(readTypes);

function readTypes(text: string): readonly string[] {
  const types = text.split(',').map((type) => type.trim());
  if (types.includes('')) throw new InvalidArgumentError('Write it as order.completed,order.failed, or all.');
  return types.includes('all') ? [] : types;
}

function addReadingCommands(endpoint: Command, parts: WebhookParts): void {
  const { run, findMerchant, now, report } = parts;
  onMerchant(
    endpoint
      .command('list')
      .description("list a merchant's webhook endpoints, and the deliveries that wait for a signing secret")
      .addOption(environmentFilter()),
    findMerchant,
    (merchantId: string, { environment = Environment.UNSPECIFIED }: { environment?: Environment }) =>
      run(async ({ webhookEndpoints }) => {
        const reply = await webhookEndpoints.listWebhookEndpoints({ merchantId, environment });
        if (reply.webhookEndpoints.length + reply.awaitedSecrets.length === 0)
          await parts.refuseUnknownMerchant(merchantId);
        return listWebhookEndpoints(merchantId, environment, reply);
      }),
  );

  onMerchantAnd(
    endpoint.command('show').description('show a webhook endpoint, its state and its signing secrets'),
    endpointArgument(),
    findMerchant,
    (merchantId: string, webhookEndpointId: string) =>
      run(async ({ webhookEndpoints }) => {
        const reply = await webhookEndpoints.getWebhookEndpoint({ merchantId, webhookEndpointId });
        const shown = requireField(reply.webhookEndpoint);
        return describeWebhookEndpoint(
          shown,
          shown.awaitsSecret ? adviseSecret(shown) : `Its deliveries:\n${deliveriesCommand(shown)}`,
        );
      }),
  );

  onMerchantAnd(
    endpoint
      .command('test')
      .description('send an event of type webhook.test to a webhook endpoint, and show the result'),
    endpointArgument(),
    findMerchant,
    (merchantId: string, webhookEndpointId: string) =>
      run(async ({ webhookEndpoints, webhooks }) => {
        const reply = await webhookEndpoints.testWebhookEndpoint({ merchantId, webhookEndpointId });
        const sent = requireField(reply.delivery);
        report(`Sending a test to ${printable(sent.url)} (${sent.deliveryId})`);
        return reportTest(webhooks, sent, now);
      }),
  );
}

const updated = 'New types apply to events from now on. A new URL also receives the pending deliveries.';

function addChangingCommands(endpoint: Command, { run, findMerchant }: WebhookParts): void {
  onMerchant(
    endpoint
      .command('create')
      .description('create a webhook endpoint, and show its signing secret once')
      .requiredOption('--url <url>', 'the URL; the rules of a webhook_url in that environment apply')
      .addOption(environmentOption().default(Environment.SANDBOX, 'sandbox'))
      .addOption(typesOption(' (the default)'))
      .option('--description <text>', 'a note, shown with the endpoint')
      .option('--no-secret', 'create no signing secret; deliveries wait until the merchant creates one'),
    findMerchant,
    (merchantId: string, { environment, url, description = '', types = [], secret }: CreateOptions) =>
      run(async ({ webhookEndpoints }) => {
        const reply = await webhookEndpoints.createWebhookEndpoint({
          merchantId,
          environment,
          url,
          description,
          eventTypes: [...types],
          withoutSecret: !secret,
        });
        const made = requireField(reply.webhookEndpoint);
        const next = made.awaitsSecret
          ? adviseSecret(made)
          : [
              `${reply.secret}\n\nCopy this secret now. Gatehouse cannot show it again.`,
              'Give the whole text to the receiver, whsec_ included. Then test the endpoint:',
              `gatehouse webhook endpoint test ${merchantId} ${made.webhookEndpointId}`,
            ].join('\n');
        const output = describeWebhookEndpoint(made, next);
        return { ...output, json: { ...plainJson(WebhookEndpointSchema, made), secret: reply.secret } };
      }),
  );

  onMerchantAnd(
    endpoint
      .command('update')
      .description('change the URL, the types or the description of a webhook endpoint')
      .option('--url <url>', 'the new URL, which also receives the pending deliveries')
      .addOption(typesOption())
      .option('--description <text>', 'the new note'),
    endpointArgument(),
    findMerchant,
    (merchantId: string, webhookEndpointId: string, { url, description, types }: UpdateOptions) =>
      run(async ({ webhookEndpoints }) => {
        const reply = await webhookEndpoints.updateWebhookEndpoint({
          merchantId,
          webhookEndpointId,
          ...(url !== undefined && { url }),
          ...(description !== undefined && { description }),
          ...(types && { types: { eventTypes: [...types] } }),
        });
        return describeWebhookEndpoint(requireField(reply.webhookEndpoint), updated);
      }),
  );

  onMerchantAnd(
    endpoint
      .command('pause')
      .description('send nothing to a webhook endpoint until it is resumed; its deliveries are kept')
      .option('--reason <text>', 'the reason, shown with the endpoint'),
    endpointArgument(),
    findMerchant,
    (merchantId: string, webhookEndpointId: string, { reason = '' }: { reason?: string }) =>
      run(async ({ webhookEndpoints }) => {
        const reply = await webhookEndpoints.pauseWebhookEndpoint({ merchantId, webhookEndpointId, reason });
        return describeWebhookEndpoint(
          requireField(reply.webhookEndpoint),
          `Nothing is sent there, and no delivery is abandoned, until it is resumed:\ngatehouse webhook endpoint resume ${merchantId} ${webhookEndpointId}`,
        );
      }),
  );

  onMerchantAnd(
    endpoint
      .command('resume')
      .description('end the pause of a webhook endpoint or close its circuit, and send to it now'),
    endpointArgument(),
    findMerchant,
    (merchantId: string, webhookEndpointId: string) =>
      run(async ({ webhookEndpoints }) => {
        const reply = await webhookEndpoints.resumeWebhookEndpoint({ merchantId, webhookEndpointId });
        const resumed = requireField(reply.webhookEndpoint);
        return describeWebhookEndpoint(
          resumed,
          `Due deliveries are sent now. The deliveries of one order keep their sequence. To follow them:\n${deliveriesCommand(resumed)}`,
        );
      }),
  );

  onMerchantAnd(
    endpoint
      .command('delete')
      .description('delete a webhook endpoint and its secrets; its pending deliveries are abandoned'),
    endpointArgument(),
    findMerchant,
    (merchantId: string, webhookEndpointId: string) =>
      run(async ({ webhookEndpoints }) => {
        const reply = await webhookEndpoints.deleteWebhookEndpoint({ merchantId, webhookEndpointId });
        const deleted = requireField(reply.webhookEndpoint);
        return {
          json: plainJson(WebhookEndpointSchema, deleted),
          text: [
            `Deleted ${webhookEndpointId}: ${printable(deleted.url)}`,
            `${counted(deleted.status?.pendingCount ?? 0n, 'pending delivery is', 'pending deliveries are')} abandoned. All its deliveries stay visible:`,
            deliveriesCommand(deleted),
          ].join('\n'),
        };
      }),
  );
}

const deliveriesCommand = ({ merchantId, webhookEndpointId, environment }: WebhookEndpoint): string =>
  `gatehouse webhook deliveries ${merchantId} --webhook-endpoint ${webhookEndpointId} --environment ${environmentWord(environment)}`;

const adviseSecret = ({ merchantId, webhookEndpointId }: WebhookEndpoint): string =>
  [
    'Its deliveries wait until a signing secret is shown. The merchant can create one in the dashboard, or you can:',
    `gatehouse webhook endpoint rotate-secret ${merchantId} ${webhookEndpointId}`,
  ].join('\n');

const showTypes = ({ eventTypes }: WebhookEndpoint): string =>
  eventTypes.length === 0 ? 'all' : eventTypes.join(', ');

const showEndpointState = ({ status, awaitsSecret }: WebhookEndpoint): string => {
  const state = status === undefined ? '' : showTreatment(status);
  return awaitsSecret ? `${state}, waits for a signing secret` : state;
};

function describeWebhookEndpoint(endpoint: WebhookEndpoint, next: string): Output {
  const { status, signingSecrets } = endpoint;
  return {
    json: plainJson(WebhookEndpointSchema, endpoint),
    text: (width) =>
      [
        fields(
          [
            ['Webhook endpoint', endpoint.webhookEndpointId],
            ['Merchant', endpoint.merchantId],
            ['Environment', showEnvironment(endpoint.environment)],
            ['URL', printable(endpoint.url)],
            ['Types', showTypes(endpoint)],
            ['Description', printable(endpoint.description)],
            ['State', showEndpointState(endpoint)],
            ['Waiting', String(status?.pendingCount ?? 0n)],
            ['Last result', status === undefined ? '' : showLastResult(status)],
            ['Secret ends in', signingSecrets.map(({ ending }) => ending).join(', ')],
            ['Created', showTime(endpoint.createTime)],
          ],
          width,
        ),
        next,
      ].join('\n\n'),
  };
}

interface Listed {
  readonly webhookEndpoints: readonly WebhookEndpoint[];
  readonly awaitedSecrets: readonly AwaitedSecret[];
}

function listWebhookEndpoints(merchantId: string, environment: Environment, listed: Listed): Output {
  const { webhookEndpoints, awaitedSecrets } = listed;
  const columns = [
    { head: 'WEBHOOK ENDPOINT, URL', wraps: true },
    { head: 'ENVIRONMENT' },
    { head: 'WAITING', right: true },
    { head: 'TYPES, STATE', wraps: true },
  ];
  const rows = webhookEndpoints.map((endpoint) => [
    `${endpoint.webhookEndpointId}\n${printable(endpoint.url)}`,
    environmentWord(endpoint.environment),
    String(endpoint.status?.pendingCount ?? 0n),
    `${showTypes(endpoint)}\n${showEndpointState(endpoint)}`,
  ]);
  const nothing = [
    `${merchantId} has no webhook endpoints in ${showEnvironment(environment)}.`,
    'Orders with a webhook_url still send webhooks there. Create an endpoint for the events of all orders:',
    `gatehouse webhook endpoint create ${merchantId} --url https://shop.example/webhooks --environment ${environmentOrSandbox(environment)}`,
  ].join('\n');
  return {
    json: {
      webhook_endpoints: webhookEndpoints.map((endpoint) => plainJson(WebhookEndpointSchema, endpoint)),
      awaited_secrets: awaitedSecrets.map((awaited) => plainJson(AwaitedSecretSchema, awaited)),
    },
    text: (width) =>
      [rows.length === 0 ? nothing : table(columns, rows, width), ...awaitedSecrets.map(showAwaited)].join(
        '\n\n',
      ),
  };
}
