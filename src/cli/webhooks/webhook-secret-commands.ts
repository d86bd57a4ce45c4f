import type { Duration } from '@bufbuild/protobuf/wkt';
import type { Command } from 'commander';
import { Environment } from '../../gen/gatehouse/v1/order_pb.js';
import { AwaitedSecretSchema } from '../../gen/gatehouse/v1/webhook_endpoint_service_pb.js';
import type { AwaitedSecret } from '../../gen/gatehouse/v1/webhook_endpoint_service_pb.js';
import {
  SigningSecretSchema,
  SigningSecretState,
  SigningSecretStateSchema,
} from '../../gen/gatehouse/v1/webhook_service_pb.js';
import type { SigningSecret } from '../../gen/gatehouse/v1/webhook_service_pb.js';
import {
  durationOption,
  environmentOption,
  environmentFilter,
  environmentOrSandbox,
  environmentWord,
  showEnvironment,
} from '../options.ts';
import { requireField } from '../output.ts';
import type { Output } from '../output.ts';
import { plainJson, wordOf } from '../plain-json.ts';
import { fields, table } from '../table.ts';
import { showTime } from '../time.ts';
import { showAwaited } from './webhook-awaited-secrets.ts';
import type { WebhookParts } from './webhook-parts.ts';
import { onMerchant } from '../merchant-argument.ts';

interface RotateOptions {
  readonly environment: Environment;
  readonly promoteAfter?: Duration;
}

/** `webhook secret …` */
export function addSigningSecretCommands(webhook: Command, parts: WebhookParts): void {
  const { run, findMerchant } = parts;
  const secret = webhook
    .command('secret')
    .description('create, rotate and list the secrets with which merchants verify webhooks');

  onMerchant(
    secret
      .command('list')
      .description("list a merchant's signing secrets, without their values")
      .addOption(environmentFilter()),
    findMerchant,
    (merchantId: string, { environment = Environment.UNSPECIFIED }: { environment?: Environment }) =>
      run(async ({ webhooks, webhookEndpoints }) => {
        const [{ signingSecrets }, { awaitedSecrets }] = await Promise.all([
          webhooks.listSigningSecrets({ merchantId, environment }),
          webhookEndpoints.listWebhookEndpoints({ merchantId, environment }),
        ]);
        if (signingSecrets.length + awaitedSecrets.length === 0)
          await parts.refuseUnknownMerchant(merchantId);
        return listSecrets(
          signingSecrets,
          awaitedSecrets.filter(({ webhookEndpointId }) => webhookEndpointId === ''),
          [
            `${merchantId} has no signing secret in ${showEnvironment(environment)}.`,
            `Create one: gatehouse webhook secret rotate ${merchantId} --environment ${environmentOrSandbox(environment)}`,
          ].join(' '),
        );
      }),
  );

  onMerchant(
    secret
      .command('rotate')
      .description('create a signing secret, the first or the next one, and show it once')
      .addOption(environmentOption().default(Environment.SANDBOX, 'sandbox'))
      .addOption(
        durationOption(
          '--promote-after <time>',
          'the time until it replaces the current secret, such as 24h (the default); 0s: at once',
        ),
      ),
    findMerchant,
    (merchantId: string, { environment, promoteAfter }: RotateOptions) =>
      run(async ({ webhooks }) => {
        const { signingSecrets } = await webhooks.listSigningSecrets({ merchantId, environment });
        const replaced = signingSecrets.find(isNext);
        const reply = await webhooks.rotateSigningSecret({
          merchantId,
          environment,
          ...(promoteAfter && { promoteAfter }),
        });
        const made = requireField(reply.signingSecret);
        return {
          json: { ...plainJson(SigningSecretSchema, made), secret: reply.secret },
          text: (width) =>
            [
              `${describeSecret(made, width)}\n`,
              ...(replaced === undefined ? [] : [`${showReplaced(replaced)}\n`]),
              showNewSecret(
                made,
                reply.secret,
                `gatehouse webhook secret promote ${merchantId} --environment ${environmentWord(environment)}`,
              ),
            ].join('\n'),
        };
      }),
  );

  onMerchant(
    secret
      .command('promote')
      .description('make the next signing secret the current one now')
      .addOption(environmentOption().default(Environment.SANDBOX, 'sandbox')),
    findMerchant,
    (merchantId: string, { environment }: { environment: Environment }) =>
      run(async ({ webhooks }) => {
        const reply = await webhooks.promoteSigningSecret({ merchantId, environment });
        const promoted = requireField(reply.signingSecret);
        return {
          json: plainJson(SigningSecretSchema, promoted),
          text: (width) =>
            `${describeSecret(promoted, width)}\n\nThe previous secret signs nothing after 5 seconds. Remove it from the receiver then.`,
        };
      }),
  );
}

const isNext = ({ state }: SigningSecret): boolean => state === SigningSecretState.NEXT;

const showState = ({ state, promoteTime }: SigningSecret): string => {
  const word = wordOf(SigningSecretStateSchema, state) ?? '';
  return promoteTime === undefined ? word : `${word}, current from ${showTime(promoteTime)} on`;
};

/** A signing secret, without its value. */
export const describeSecret = (secret: SigningSecret, width: number): string =>
  fields(
    [
      ['Signing secret', secret.signingSecretId],
      ['Merchant', secret.merchantId],
      ['Environment', showEnvironment(secret.environment)],
      ['Ends in', secret.ending],
      ['State', showState(secret)],
      ['Created', showTime(secret.createTime)],
    ],
    width,
  );

/** There is only one next secret. The operator must tell the receiver that it was replaced. */
const showReplaced = ({ ending }: SigningSecret): string =>
  `It replaces the next secret that ends in ${ending}, which signs nothing after 5 seconds.\nIf a receiver has that secret already, give it the new one instead.`;

/** The new secret, and the steps and times of its rotation. `promote` is the command that promotes it. */
export function showNewSecret(made: SigningSecret, secret: string, promote: string): string {
  const shown = `${secret}\n\nCopy this secret now. Gatehouse cannot show it again.`;
  if (!isNext(made))
    return `${shown}\nAfter 5 seconds all webhooks are signed with it. Give the whole text to the receiver, whsec_ included.`;
  return [
    shown,
    'What to do next:',
    '1. Add it to the receiver, beside the current secret. After 5 seconds both sign webhook-signature.',
    '   X-SVC-HMAC-Signature has only one signature, of the current secret.',
    `2. It becomes current at ${showTime(made.promoteTime)}, or earlier with:`,
    `   ${promote}`,
    '3. Then remove the previous secret from the receiver.',
  ].join('\n');
}

function listSecrets(
  secrets: readonly SigningSecret[],
  awaited: readonly AwaitedSecret[],
  nothing: string,
): Output {
  const columns = [
    { head: 'SIGNING SECRET' },
    { head: 'ENVIRONMENT' },
    { head: 'ENDS IN' },
    { head: 'CREATED' },
    { head: 'STATE', wraps: true },
  ];
  const rows = secrets.map((secret) => [
    secret.signingSecretId,
    environmentWord(secret.environment),
    secret.ending,
    showTime(secret.createTime),
    showState(secret),
  ]);
  return {
    json: {
      signing_secrets: secrets.map((secret) => plainJson(SigningSecretSchema, secret)),
      awaited_secrets: awaited.map((each) => plainJson(AwaitedSecretSchema, each)),
    },
    text: (width) =>
      [
        rows.length === 0 && awaited.length === 0 ? nothing : '',
        rows.length === 0 ? '' : table(columns, rows, width),
      ]
        .concat(awaited.map(showAwaited))
        .filter((part) => part !== '')
        .join('\n\n'),
  };
}
