import { Agent, errors, request } from 'undici';

/** A webhook to send. */
export interface SignedWebhook {
  readonly body: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
  /** POST when absent. */
  readonly method?: 'GET';
}

/** The result of forwarding a webhook. */
export interface Forwarded {
  /** The HTTP status; 0 without a complete answer. */
  readonly status: number;
  readonly durationMs: number;
  /** Why there is no complete answer; empty when there is one. */
  readonly problem: string;
  /** Whether the problem is that the time limit was reached. */
  readonly isLate: boolean;
  /** The beginning of the answer, as text. */
  readonly answer: string;
}

export interface Forwarder {
  readonly forward: (webhook: SignedWebhook, stop: AbortSignal) => Promise<Forwarded>;
  readonly close: () => Promise<void>;
}

const connectMs = 5_000;
/** The length of an answer that is read, as in a delivery. */
const maxReadBytes = 16 * 1024;
const maxAnswerCharacters = 1_000;

export interface ForwarderOptions {
  readonly url: URL;
  /** The time limit of the receiver, up to the end of its answer. */
  readonly totalMs: number;
  readonly nowMs: () => number;
  /** The header user-agent; that of `listen` when absent. */
  readonly userAgent?: string;
}

/** Forwards webhooks to a URL: the exact bytes and headers, once each, without following redirects. Never rejects. */
export function openForwarder({
  url,
  totalMs,
  nowMs,
  userAgent = 'Gatehouse-Webhooks (gatehouse listen)',
}: ForwarderOptions): Forwarder {
  // Each webhook has its own connection, because an idle connection that the receiver closed would look like a failure.
  const agent = new Agent({ pipelining: 0, connect: { timeout: connectMs } });
  return {
    async forward({ body, headers, method }, stop) {
      const beganMs = nowMs();
      const late = AbortSignal.timeout(totalMs);
      const took = (): number => Math.round(nowMs() - beganMs);
      try {
        const answered = await request(url, {
          method: method ?? 'POST',
          headers: { ...headers, 'user-agent': userAgent },
          body: method === undefined ? body : null,
          dispatcher: agent,
          signal: AbortSignal.any([stop, late]),
        });
        const answer = await beginningOf(answered.body);
        return { status: answered.statusCode, durationMs: took(), problem: '', isLate: false, answer };
      } catch (error) {
        const describe = (): string => {
          if (stop.aborted) return 'interrupted before the answer';
          return late.aborted ? `no complete answer within ${totalMs / 1000} s` : explainFailure(error, url);
        };
        const isLate = late.aborted && !stop.aborted;
        return { status: 0, durationMs: took(), problem: describe(), isLate, answer: '' };
      }
    },
    close: () => agent.destroy(),
  };
}

async function beginningOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    length += chunk.length;
    if (length >= maxReadBytes) break;
  }
  return Buffer.concat(chunks).toString('utf8').slice(0, maxAnswerCharacters);
}

function explainFailure(error: unknown, url: URL): string {
  const { hostname, protocol, port } = url;
  const where = `${hostname}:${port || (protocol === 'https:' ? '443' : '80')}`;
  if (error instanceof errors.HTTPParserError) return `the answer of ${where} is not HTTP`;
  // Checks the shape, not the class. Under some test runners, errors of node:net come from another realm.
  const { code = '', message = 'it failed' } = error as { readonly code?: string; readonly message?: string };
  switch (code) {
    case 'ECONNREFUSED':
      return `nothing listens on ${where}`;
    case 'ENOTFOUND':
      return `the host ${hostname} does not exist`;
    case 'EAI_AGAIN':
      return `the DNS lookup of ${hostname} failed: check the network of this machine, and try again`;
    case 'UND_ERR_CONNECT_TIMEOUT':
      return `no connection to ${where} within ${connectMs / 1000} s`;
    case 'ECONNRESET':
    case 'EPIPE':
    case 'UND_ERR_SOCKET':
      return `${where} closed the connection before its answer was complete`;
    default:
      return `${message} (${where})`;
  }
}
