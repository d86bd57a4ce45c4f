import { ConnectError, createClient } from '@connectrpc/connect';
import type { Client, Transport } from '@connectrpc/connect';
import { ApiKeyService } from '../gen/gatehouse/v1/api_key_service_pb.js';
import { AuditService } from '../gen/gatehouse/v1/audit_service_pb.js';
import { DiagnosticsService } from '../gen/gatehouse/v1/diagnostics_service_pb.js';
import { MerchantService } from '../gen/gatehouse/v1/merchant_service_pb.js';
import { OrderService } from '../gen/gatehouse/v1/order_service_pb.js';
import { PaymentAttemptService } from '../gen/gatehouse/v1/payment_attempt_service_pb.js';
import { ReconciliationService } from '../gen/gatehouse/v1/reconciliation_service_pb.js';
import { StrayPaymentService } from '../gen/gatehouse/v1/stray_payment_service_pb.js';
import { Health } from '../gen/health/v1/health_pb.js';
import { createGrpcTransport } from '../runtime/rpc/grpc-transport.ts';

/** The services of a core, or of several that are asked in turn. */
export interface CoreClients {
  readonly merchants: Client<typeof MerchantService>;
  readonly apiKeys: Client<typeof ApiKeyService>;
  readonly orders: Client<typeof OrderService>;
  readonly payments: Client<typeof PaymentAttemptService>;
  readonly strayPayments: Client<typeof StrayPaymentService>;
  readonly reconciliations: Client<typeof ReconciliationService>;
  readonly audit: Client<typeof AuditService>;
  readonly diagnostics: Client<typeof DiagnosticsService>;
  readonly health: Client<typeof Health>;
  /** Ends the connections; the process could not end before. */
  readonly close: () => void;
}

export interface CoreClientOptions {
  readonly addresses: readonly string[];
  readonly token: string;
  /** The person who asks, for the audit log. */
  readonly actor: string;
  readonly newRequestId: () => string;
}

/** Somebody waits at a terminal: a core that has said nothing for this long is as good as gone. */
const callDeadlineMs = 5_000;

const requestIdHeader = 'x-request-id';

/** Opens the services at the addresses. Nothing is connected before the first call. */
export function openCore({ addresses, token, actor, newRequestId }: CoreClientOptions): CoreClients {
  const transport = createGrpcTransport({ addresses, token });
  const named: Transport = {
    unary: async (method, signal, timeoutMs, header, input) => {
      const requestId = newRequestId();
      const headers = withHeaders(header, { [requestIdHeader]: requestId, 'x-gatehouse-actor': actor });
      try {
        return await transport.unary(method, signal, timeoutMs ?? callDeadlineMs, headers, input);
      } catch (error) {
        if (error instanceof ConnectError) error.metadata.set(requestIdHeader, requestId);
        throw error;
      }
    },
    stream: transport.stream.bind(transport),
  };
  return {
    merchants: createClient(MerchantService, named),
    apiKeys: createClient(ApiKeyService, named),
    orders: createClient(OrderService, named),
    payments: createClient(PaymentAttemptService, named),
    strayPayments: createClient(StrayPaymentService, named),
    reconciliations: createClient(ReconciliationService, named),
    audit: createClient(AuditService, named),
    diagnostics: createClient(DiagnosticsService, named),
    health: createClient(Health, named),
    close: transport.close,
  };
}

function withHeaders(header: unknown, more: Readonly<Record<string, string>>): Headers {
  const headers = new Headers(header as Record<string, string>);
  for (const [name, value] of Object.entries(more)) headers.set(name, value);
  return headers;
}

/** The id of the request that failed, as the core's log has it; undefined when none was sent. */
export const requestIdOf = (error: ConnectError): string | undefined =>
  error.metadata.get(requestIdHeader) ?? undefined;
