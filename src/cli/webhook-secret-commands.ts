import type { Duration } from '@bufbuild/protobuf/wkt';
import type { Command } from 'commander';
import { Environment } from '../gen/gatehouse/v1/order_pb.js';
import {
  SigningSecretSchema,
  SigningSecretState,
  SigningSecretStateSchema,
} from '../gen/gatehouse/v1/webhook_service_pb.js';
import type { SigningSecret } from '../gen/gatehouse/v1/webhook_service_pb.js';
import { durationOption, environmentOption, environmentWord, showEnvironment } from './options.ts';
import { answered } from './output.ts';
import type { Output } from './output.ts';
import { plainJson, wordOf } from './plain-json.ts';
import { fields, table } from './table.ts';
import { showTime } from './time.ts';
import type { WebhookParts } from './webhook-parts.ts';
import { onMerchant } from './merchant-argument.ts';

interface RotateOptions {
  readonly environment: Environment;
  readonly promoteAfter?: Duration;
}

/** `webhook secret …` */
export function addSigningSecretCommands(webhook: Command, { run, findMerchant }: WebhookParts): void {
  const secret = webhook
    .command('secret')
    .description('make and replace the secrets that merchants verify webhooks with');

  onMerchant(
    secret
      .command('list')
      .description("list a merchant's signing secrets, without the secrets themselves")
      .addOption(environmentOption()),
    findMerchant,
    (merchantId: string, { environment = Environment.UNSPECIFIED }: { environment?: Environment }) =>
      run(async ({ webhooks }) => {
        const { signingSecrets } = await webhooks.listSigningSecrets({ merchantId, environment });
        return list(
          signingSecrets,
          [
            `${merchantId} has no signing secret in ${showEnvironment(environment)}.`,
            `Make one: gatehouse webhook secret rotate ${merchantId} --environment ${environment === Environment.PRODUCTION ? 'production' : 'sandbox'}`,
          ].join(' '),
        );
      }),
  );

  onMerchant(
    secret
      .command('rotate')
      .description('make a signing secret, the first or one to take the place of another, and show it, once')
      .addOption(environmentOption().default(Environment.SANDBOX, 'sandbox'))
      .addOption(
        durationOption(
          '--promote-after <time>',
          'how long until it takes the place of the one before, such as 24h (the default); 0s: at once',
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
        const made = answered(reply.signingSecret);
        return {
          json: { ...plainJson(SigningSecretSchema, made), secret: reply.secret },
          text: [
            `${describe(made)}\n`,
            ...(replaced === undefined ? [] : [`${showReplaced(replaced)}\n`]),
            showSecret(made, reply.secret),
          ].join('\n'),
        };
      }),
  );

  onMerchant(
    secret
      .command('promote')
      .description('have the next signing secret take the place of the current one now')
      .addOption(environmentOption().default(Environment.SANDBOX, 'sandbox')),
    findMerchant,
    (merchantId: string, { environment }: { environment: Environment }) =>
      run(async ({ webhooks }) => {
        const reply = await webhooks.promoteSigningSecret({ merchantId, environment });
        const promoted = answered(reply.signingSecret);
        return {
          json: plainJson(SigningSecretSchema, promoted),
          text: `${describe(promoted)}\n\nWithin 5 seconds the one before signs no more. The receiver may forget it then.`,
        };
      }),
  );
}

const isNext = ({ state }: SigningSecret): boolean => state === SigningSecretState.NEXT;

const showState = ({ state, promoteTime }: SigningSecret): string => {
  const word = wordOf(SigningSecretStateSchema, state) ?? '';
  return promoteTime === undefined ? word : `${word}, current from ${showTime(promoteTime)} on`;
};

const showWhetherShown = ({ shown }: SigningSecret): string =>
  shown ? '' : 'nobody has seen it yet: made by itself when something had to be signed';

const describe = (secret: SigningSecret): string =>
  fields([
    ['Signing secret', secret.signingSecretId],
    ['Merchant', secret.merchantId],
    ['Environment', showEnvironment(secret.environment)],
    ['Ends in', secret.ending],
    ['State', showState(secret)],
    ['Created', showTime(secret.createTime)],
    ['Shown', showWhetherShown(secret)],
  ]);

/** There is one next secret at a time; whoever was given the other has to hear of it. */
const showReplaced = ({ ending }: SigningSecret): string =>
  `It takes the place of the next secret that ends in ${ending}, which signs no more within 5 seconds.\nIf a receiver has that one already, give it the new one instead.`;

/** The secret, and what its receiver has to do by when. */
function showSecret(made: SigningSecret, secret: string): string {
  const shown = `${secret}\n\nThis is the secret. Keep it now: it is not shown again.`;
  if (!isNext(made))
    return `${shown}\nWithin 5 seconds it alone signs. Give it to the receiver, whole, with its whsec_.`;
  const environment = environmentWord(made.environment);
  return [
    shown,
    'What to do next:',
    '1. Have the receiver accept it beside the one it has. Within 5 seconds both sign webhook-signature.',
    '   X-SVC-HMAC-Signature, which has room for one, is made with the one before until this is current.',
    `2. It becomes current by itself at ${showTime(made.promoteTime)}. As soon as the receiver is ready:`,
    `   gatehouse webhook secret promote ${made.merchantId} --environment ${environment}`,
    '3. Have the receiver forget the one before.',
  ].join('\n');
}

function list(secrets: readonly SigningSecret[], nothing: string): Output {
  const columns = [
    { head: 'SIGNING SECRET' },
    { head: 'ENVIRONMENT' },
    { head: 'ENDS IN' },
    { head: 'CREATED' },
    { head: 'STATE', gives: true },
  ];
  const rows = secrets.map((secret) => [
    secret.signingSecretId,
    environmentWord(secret.environment),
    secret.ending,
    showTime(secret.createTime),
    [showState(secret), showWhetherShown(secret)].filter((line) => line !== '').join('\n'),
  ]);
  return {
    json: { signing_secrets: secrets.map((secret) => plainJson(SigningSecretSchema, secret)) },
    text: (width) => (rows.length === 0 ? nothing : table(columns, rows, width)),
  };
}
