import { createClient } from '@connectrpc/connect';
import type { Client, Transport } from '@connectrpc/connect';
import { WebhookEndpointService } from '../../gen/gatehouse/v1/webhook_endpoint_service_pb.js';
import { WebhookService } from '../../gen/gatehouse/v1/webhook_service_pb.js';
import { Health } from '../../gen/health/v1/health_pb.js';
import { openNamedTransport } from '../named-transport.ts';
import type { NamedTransportOptions } from '../named-transport.ts';

/** The services of a process that sends webhooks, or of several processes in turn. */
export interface WebhookClients {
  readonly webhooks: Client<typeof WebhookService>;
  readonly webhookEndpoints: Client<typeof WebhookEndpointService>;
  readonly health: Client<typeof Health>;
  /** Closes the connections, which would otherwise keep the process running. */
  readonly close: () => void;
}

/** Opens the services at the addresses. The first call connects. */
export function openWebhooks(options: NamedTransportOptions): WebhookClients {
  const transport = openNamedTransport(options);
  return webhookClientsOn(transport, transport.close);
}

/** The services of a webhooks process, called over this transport. `close` closes the transport. */
export function webhookClientsOn(transport: Transport, close: () => void): WebhookClients {
  return {
    webhooks: createClient(WebhookService, transport),
    webhookEndpoints: createClient(WebhookEndpointService, transport),
    health: createClient(Health, transport),
    close,
  };
}
