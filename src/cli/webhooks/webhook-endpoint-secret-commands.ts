import type { Duration } from '@bufbuild/protobuf/wkt';
import { Argument } from 'commander';
import type { Command } from 'commander';
import { SigningSecretSchema } from '../../gen/gatehouse/v1/webhook_service_pb.js';
import { onMerchantAnd } from '../merchant-argument.ts';
import { durationOption } from '../options.ts';
import { requireField } from '../output.ts';
import { plainJson } from '../plain-json.ts';
import type { WebhookParts } from './webhook-parts.ts';
import { describeSecret, showNewSecret } from './webhook-secret-commands.ts';

const endpointArgument = (): Argument => new Argument('<endpoint_id>', 'whe_…');

/** `webhook endpoint rotate-secret` and `webhook endpoint promote-secret` */
export function addEndpointSecretCommands(endpoint: Command, { run, findMerchant }: WebhookParts): void {
  onMerchantAnd(
    endpoint
      .command('rotate-secret')
      .description(
        'create a signing secret of a webhook endpoint, the first or the next one, and show it once',
      )
      .addOption(
        durationOption(
          '--promote-after <time>',
          'the time until it replaces the current secret, such as 24h (the default); 0s: at once',
        ),
      ),
    endpointArgument(),
    findMerchant,
    (merchantId: string, webhookEndpointId: string, { promoteAfter }: { promoteAfter?: Duration }) =>
      run(async ({ webhookEndpoints }) => {
        const reply = await webhookEndpoints.rotateWebhookEndpointSecret({
          merchantId,
          webhookEndpointId,
          ...(promoteAfter && { promoteAfter }),
        });
        const made = requireField(reply.signingSecret);
        const promote = `gatehouse webhook endpoint promote-secret ${merchantId} ${webhookEndpointId}`;
        return {
          json: { ...plainJson(SigningSecretSchema, made), secret: reply.secret },
          text: (width) => `${describeSecret(made, width)}\n\n${showNewSecret(made, reply.secret, promote)}`,
        };
      }),
  );

  onMerchantAnd(
    endpoint
      .command('promote-secret')
      .description('replace the current signing secret of a webhook endpoint by the next one now'),
    endpointArgument(),
    findMerchant,
    (merchantId: string, webhookEndpointId: string) =>
      run(async ({ webhookEndpoints }) => {
        const reply = await webhookEndpoints.promoteWebhookEndpointSecret({ merchantId, webhookEndpointId });
        const promoted = requireField(reply.signingSecret);
        return {
          json: plainJson(SigningSecretSchema, promoted),
          text: (width) =>
            `${describeSecret(promoted, width)}\n\nThe previous secret signs nothing after 5 seconds. Remove it from the receiver then.`,
        };
      }),
  );
}
