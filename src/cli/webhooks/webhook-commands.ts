import type { Command } from 'commander';
import { addDeliveryCommands } from './webhook-delivery-commands.ts';
import { addWebhookEndpointCommands } from './webhook-endpoint-commands.ts';
import { addHostCommands } from './webhook-host-commands.ts';
import { addRedeliveryCommands } from './webhook-redelivery-commands.ts';
import type { WebhookParts } from './webhook-parts.ts';
import { addSigningSecretCommands } from './webhook-secret-commands.ts';
import { addWebhookTestCommand } from './webhook-test-command.ts';

/** `webhook …` */
export function addWebhookCommands(program: Command, parts: WebhookParts): void {
  const webhook = program
    .command('webhook')
    .description('show and redeliver webhooks, and manage webhook endpoints, hosts and signing secrets');
  addDeliveryCommands(webhook, parts);
  addRedeliveryCommands(webhook, parts);
  addWebhookTestCommand(webhook, parts);
  addWebhookEndpointCommands(webhook, parts);
  addHostCommands(webhook, parts);
  addSigningSecretCommands(webhook, parts);
}
