import { createClient } from '@connectrpc/connect';
import type { Client, Transport } from '@connectrpc/connect';
import { WebhookService } from '../gen/gatehouse/v1/webhook_service_pb.js';
import { Health } from '../gen/health/v1/health_pb.js';
import { openNamedTransport } from './named-transport.ts';
import type { NamedTransportOptions } from './named-transport.ts';

/** The services of a process that sends webhooks, or of several that are asked in turn. */
export interface WebhookClients {
  readonly webhooks: Client<typeof WebhookService>;
  readonly health: Client<typeof Health>;
  /** Ends the connections; the process could not end before. */
  readonly close: () => void;
}

/** Opens the services at the addresses. Nothing is connected before the first call. */
export function openWebhooks(options: NamedTransportOptions): WebhookClients {
  const transport = openNamedTransport(options);
  return webhookClientsOn(transport, transport.close);
}

/** The services of a webhooks process that is reached by this transport, which `close` ends. */
export function webhookClientsOn(transport: Transport, close: () => void): WebhookClients {
  return {
    webhooks: createClient(WebhookService, transport),
    health: createClient(Health, transport),
    close,
  };
}
