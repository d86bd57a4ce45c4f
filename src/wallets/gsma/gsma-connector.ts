import { Value } from '@sinclair/typebox/value';
import { AccessTokens } from '../connector/access-tokens.ts';
import type { JsonReply } from '../connector/json-reply.ts';
import type {
  Acknowledgement,
  Health,
  PaymentOutcome,
  Recovery,
  ReversalOutcome,
} from '../connector/outcomes.ts';
import type { Answer, ExchangePurpose } from '../connector/raw-exchange.ts';
import type {
  CallOptions,
  CallbackHint,
  CallbackRequest,
  PaymentQuery,
  PaymentRequest,
  ReversalQuery,
  ReversalRequest,
  StatementPage,
  StatementPeriod,
  WalletConnector,
} from '../connector/wallet-connector.ts';
import { WalletHttp } from '../connector/wallet-http.ts';
import { correlationId } from './correlation-id.ts';
import { fetchToken } from './fetch-token.ts';
import { GsmaClient } from './gsma-client.ts';
import type { GsmaSettings } from './gsma-settings.ts';
import { gsmaCapabilities } from './gsma-capabilities.ts';
import { callbackUrl, resourceUrl } from './gsma-settings.ts';
import { heartbeatSchema, linkSchema } from './messages.ts';
import { readReference, writeReference } from './provider-reference.ts';
import { readAcknowledgement } from './read-acknowledgement.ts';
import { readCallback } from './read-callback.ts';
import { readError } from './read-error.ts';
import { readRequestState } from './read-request-state.ts';
import type { RequestProgress } from './read-request-state.ts';
import { readStatement } from './read-statement.ts';
import { refusedReversal, readPayment, readReversal } from './read-transaction.ts';
import { unansweredQuery, unknown, unknownAfter } from './unknown-outcome.ts';
import { writePayment, writeReversal } from './write-requests.ts';

const maxAnswerBytes = 64 * 1024;

/** A wallet with the GSMA Mobile Money API 1.2, in the profile of docs/wallets/gsma-profile.md. */
export class GsmaConnector implements WalletConnector {
  readonly capabilities = gsmaCapabilities;
  readonly #settings: GsmaSettings;
  readonly #http: WalletHttp;
  readonly #client: GsmaClient;
  readonly #now: () => Date;

  constructor(settings: GsmaSettings, now: () => Date) {
    this.#settings = settings;
    this.#now = now;
    const { timeouts, lookup, maxConnections } = settings;
    this.#http = new WalletHttp({ connectMs: timeouts.connectMs, lookup, maxConnections }, now);
    const tokens = new AccessTokens(() => fetchToken(settings, this.#http, now), now);
    this.#client = new GsmaClient(settings, this.#http, tokens, now);
  }

  async initiate(request: PaymentRequest, options: CallOptions): Promise<Answer<Acknowledgement>> {
    const written = writePayment(this.#settings, request);
    if (!written.ok) return { result: { kind: 'refused', ...written.failure }, exchanges: [] };
    const url = resourceUrl(this.#settings, 'transactions', 'type', 'merchantpay');
    return this.#submit('initiate', url, request.attemptId, request.callbackToken, written.body, options);
  }

  async reverse(request: ReversalRequest, options: CallOptions): Promise<Answer<Acknowledgement>> {
    const written = writeReversal(request);
    if (!written.ok) return { result: { kind: 'refused', ...written.failure }, exchanges: [] };
    const url = resourceUrl(this.#settings, 'transactions', request.providerTransactionId, 'reversals');
    return this.#submit('reverse', url, request.reversalId, request.callbackToken, written.body, options);
  }

  async query(payment: PaymentQuery, options: CallOptions): Promise<Answer<PaymentOutcome>> {
    const signal = this.#limit(options);
    const { attemptId, providerReference } = payment;
    return this.#orByOwnId<PaymentOutcome>(attemptId, providerReference, signal, async (reference) => {
      const progress = await this.#readProgress('query', reference, signal);
      if (progress.result.kind !== 'see_transaction') return { ...progress, result: progress.result };
      const { transactionReference } = progress.result;
      const reply = await this.#get('query', signal, 'transactions', transactionReference);
      return {
        result: readPayment(reply.result, { transactionReference, requestId: attemptId }),
        exchanges: [...progress.exchanges, ...reply.exchanges],
      };
    });
  }

  async queryReversal(reversal: ReversalQuery, options: CallOptions): Promise<Answer<ReversalOutcome>> {
    const signal = this.#limit(options);
    const { reversalId, providerReference } = reversal;
    return this.#orByOwnId<ReversalOutcome>(reversalId, providerReference, signal, async (reference) => {
      const { result, exchanges } = await this.#readProgress('query_reversal', reference, signal);
      if (result.kind === 'pending') return { result: { kind: 'pending' }, exchanges };
      if (result.kind !== 'see_transaction') return { result: refusedReversal(result), exchanges };
      const { transactionReference } = result;
      const reply = await this.#get('query_reversal', signal, 'transactions', transactionReference);
      return {
        result: readReversal(reply.result, {
          transactionReference,
          requestId: reversalId,
          originalTransactionReference: reversal.providerTransactionId,
        }),
        exchanges: [...exchanges, ...reply.exchanges],
      };
    });
  }

  async recover(requestId: string, options: CallOptions): Promise<Answer<Recovery>> {
    return this.#findByOwnId(requestId, this.#limit(options));
  }

  parseCallback(callback: CallbackRequest): CallbackHint {
    return readCallback(callback, [this.#settings.clientSecret, this.#settings.apiKey]);
  }

  statement(period: StatementPeriod, options: CallOptions): AsyncIterable<StatementPage> {
    return readStatement(this.#client, this.#settings, period, options.signal);
  }

  async health(options: CallOptions): Promise<Answer<Health>> {
    const { result: reply, exchanges } = await this.#client.callWithoutToken(
      { purpose: 'health', url: resourceUrl(this.#settings, 'heartbeat'), maxAnswerBytes },
      this.#limit(options),
    );
    return { result: readHealth(reply), exchanges };
  }

  async close(): Promise<void> {
    await this.#http.close();
  }

  async #submit(
    purpose: ExchangePurpose,
    url: URL,
    requestId: string,
    callbackToken: string,
    body: string,
    options: CallOptions,
  ): Promise<Answer<Acknowledgement>> {
    const post = {
      body,
      correlationId: correlationId(requestId),
      callbackUrl: callbackUrl(this.#settings, requestId, callbackToken),
      callbackToken,
    };
    const { result, exchanges } = await this.#client.call(
      { purpose, url, post, maxAnswerBytes },
      this.#limit(options),
    );
    return { result: readAcknowledgement(result), exchanges };
  }

  /**
   * Asks by the stored reference. A wallet may have acknowledged a request with a reference that it does not know, or that leads to another
   * request. Then its reference for our id takes the place of the stored one. A request state has no id of ours. So a failed state, and a
   * pending state after its expiry, count only if the wallet has no other reference for our id.
   */
  async #orByOwnId<Outcome extends PaymentOutcome | ReversalOutcome>(
    requestId: string,
    stored: string | undefined,
    signal: AbortSignal,
    ask: (reference: string | undefined) => Promise<Answer<Outcome>>,
  ): Promise<Answer<Outcome>> {
    const answer = await ask(stored);
    if (answer.exchanges.length === 0 || !mayBeOfAnother(answer.result, stored, this.#now())) return answer;
    const found = await this.#findByOwnId(requestId, signal);
    const exchanges = [...answer.exchanges, ...found.exchanges];
    if (found.result.kind !== 'found' || found.result.providerReference === stored)
      return { result: answer.result, exchanges };
    const { providerReference } = found.result;
    const { result, exchanges: asked } = await ask(providerReference);
    return {
      result: result.kind === 'pending' ? { ...result, providerReference } : result,
      exchanges: [...exchanges, ...asked],
    };
  }

  async #findByOwnId(requestId: string, signal: AbortSignal): Promise<Answer<Recovery>> {
    const id = correlationId(requestId);
    const { result: reply, exchanges } = await this.#get('recover', signal, 'responses', id);
    return { result: readRecovery(reply), exchanges };
  }

  /** The state of a request. If its transaction is already known, the transaction decides. */
  async #readProgress(
    purpose: ExchangePurpose,
    providerReference: string | undefined,
    signal: AbortSignal,
  ): Promise<Answer<RequestProgress>> {
    const reference = readReference(providerReference ?? '');
    if (reference === undefined) {
      const detail =
        'the reference of the wallet is unknown: Gatehouse must first find it by its own request id';
      return { result: unknown('not_found', detail), exchanges: [] };
    }
    if (reference.collection === 'transactions') {
      return { result: { kind: 'see_transaction', transactionReference: reference.id }, exchanges: [] };
    }
    const { result, exchanges } = await this.#get(purpose, signal, 'requeststates', reference.id);
    return { result: readRequestState(result, reference.id), exchanges };
  }

  #get(purpose: ExchangePurpose, signal: AbortSignal, ...segments: readonly string[]) {
    return this.#client.call(
      { purpose, url: resourceUrl(this.#settings, ...segments), maxAnswerBytes },
      signal,
    );
  }

  #limit({ signal }: CallOptions): AbortSignal {
    return AbortSignal.any([signal, AbortSignal.timeout(this.#settings.timeouts.callMs)]);
  }
}

/** Whether this outcome, found by the stored reference, may be that of another request. A transaction that failed has our id. */
function mayBeOfAnother(
  result: PaymentOutcome | ReversalOutcome,
  stored: string | undefined,
  now: Date,
): boolean {
  if (result.kind === 'completed') return false;
  if (result.kind === 'unknown') return result.why === 'inconsistent' || result.why === 'not_found';
  if (result.kind === 'pending' && !('expiresAt' in result && result.expiresAt <= now)) return false;
  return readReference(stored ?? '')?.collection === 'requeststates';
}

/** By `GET /responses/{clientCorrelationId}`. Only a 404 with the contract's error means that the id is unknown. */
function readRecovery(reply: JsonReply): Recovery {
  if (reply.kind !== 'answered') return unansweredQuery(reply);
  if (reply.status === 404 && reply.body.ok && readError(reply.body.json)?.category === 'identification') {
    return { kind: 'not_found' };
  }
  if (reply.status !== 200) return unknownAfter(reply);
  if (!reply.body.ok) return unknown('unreadable_answer', reply.body.problem);
  const reference = Value.Check(linkSchema, reply.body.json)
    ? readReference(reply.body.json.link)
    : undefined;
  if (reference === undefined) {
    return unknown('unreadable_answer', 'the answer is not a link to a request state or a transaction');
  }
  return { kind: 'found', providerReference: writeReference(reference) };
}

function readHealth(reply: JsonReply): Health {
  if (reply.kind !== 'answered' || reply.status !== 200) {
    const kind = reply.kind === 'answered' && offersNoHeartbeat(reply.status) ? 'unreported' : 'unavailable';
    return { kind, detail: unansweredQuery(reply).detail };
  }
  if (!reply.body.ok) return { kind: 'unavailable', detail: reply.body.problem };
  if (!Value.Check(heartbeatSchema, reply.body.json)) {
    return { kind: 'unavailable', detail: 'the answer is not a heartbeat' };
  }
  const status = reply.body.json.serviceStatus.toLowerCase();
  if (status === 'available') return { kind: 'available' };
  const kind = status === 'degraded' ? 'degraded' : 'unavailable';
  return { kind, detail: `the wallet says it is ${status.slice(0, 64)}` };
}

/** Whether the answer means that the wallet has no heartbeat, which is optional. */
const offersNoHeartbeat = (status: number): boolean =>
  status === 501 || (status >= 400 && status < 500 && status !== 408 && status !== 429);
