import { ConnectError } from '@connectrpc/connect';
import type { Transport } from '@connectrpc/connect';
import { createGrpcTransport } from '../contract/grpc-transport.ts';
import type { CertificateFiles } from '../platform/tls/certificate-files.ts';

export interface NamedTransportOptions {
  readonly addresses: readonly string[];
  readonly token: string;
  /** Undefined to call without TLS. */
  readonly tls?: CertificateFiles | undefined;
  /** The user of the command, for the audit log. */
  readonly actor: string;
  readonly newRequestId: () => string;
}

/** A person waits at a terminal, so a server that does not answer within this time counts as unavailable. */
const callDeadlineMs = 5_000;

const requestIdHeader = 'x-request-id';
const methodHeader = 'x-gatehouse-method';

/** A transport whose calls carry the user's name and a request id for the server's log. Close it when done. */
export function openNamedTransport({
  addresses,
  token,
  tls,
  actor,
  newRequestId,
}: NamedTransportOptions): Transport & { readonly close: () => void } {
  const transport = createGrpcTransport({ addresses, token, tls });
  const namesOf = (requestId: string) => ({ [requestIdHeader]: requestId, 'x-gatehouse-actor': actor });
  return {
    unary: async (method, signal, timeoutMs, header, input) => {
      const requestId = newRequestId();
      const headers = withHeaders(header, namesOf(requestId));
      try {
        return await transport.unary(method, signal, timeoutMs ?? callDeadlineMs, headers, input);
      } catch (error) {
        if (error instanceof ConnectError) {
          error.metadata.set(requestIdHeader, requestId);
          error.metadata.set(methodHeader, method.name);
        }
        throw error;
      }
    },
    stream: (method, signal, timeoutMs, header, input) =>
      transport.stream(method, signal, timeoutMs, withHeaders(header, namesOf(newRequestId())), input),
    close: transport.close,
  };
}

function withHeaders(header: unknown, more: Readonly<Record<string, string>>): Headers {
  const headers = new Headers(header as Record<string, string>);
  for (const [name, value] of Object.entries(more)) headers.set(name, value);
  return headers;
}

/** The id of the failed request, as in the server's log; undefined when no request was sent. */
export const requestIdOf = (error: ConnectError): string | undefined =>
  error.metadata.get(requestIdHeader) ?? undefined;

/** The name of the failed method, such as CreateMerchant; undefined when no request was sent. */
export const methodOf = (error: ConnectError): string | undefined =>
  error.metadata.get(methodHeader) ?? undefined;
