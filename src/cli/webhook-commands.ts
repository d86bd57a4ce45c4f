import type { Command } from 'commander';
import type { Runner } from './output.ts';
import type { WebhookClients } from './webhook-clients.ts';
import { addDeliveryCommands } from './webhook-delivery-commands.ts';
import { addEndpointCommands } from './webhook-endpoint-commands.ts';
import { addRedeliveryCommands } from './webhook-redelivery-commands.ts';
import { addSigningSecretCommands } from './webhook-secret-commands.ts';
import { addWebhookTestCommand } from './webhook-test-command.ts';

export interface WebhookParts {
  readonly run: Runner<WebhookClients>;
  readonly now: () => Date;
  /** Takes a line about how far it is. */
  readonly report: (line: string) => void;
  /** Aborts when the user has had enough. */
  readonly interruption: () => AbortSignal;
}

/** `webhook …` */
export function addWebhookCommands(program: Command, parts: WebhookParts): void {
  const webhook = program
    .command('webhook')
    .description('look at what merchants are told, send it again, and keep their endpoints and secrets');
  addDeliveryCommands(webhook, parts);
  addRedeliveryCommands(webhook, parts);
  addWebhookTestCommand(webhook, parts);
  addEndpointCommands(webhook, parts);
  addSigningSecretCommands(webhook, parts);
}
