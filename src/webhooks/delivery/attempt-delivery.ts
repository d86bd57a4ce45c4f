import { reachedTime } from '../../platform/database/retention-start.ts';
import type { Logger } from '../../platform/logger.ts';
import { secretOwnerOf } from '../domain/delivery.ts';
import type { OutgoingDelivery } from '../domain/delivery.ts';
import { signedHeaders } from '../../contract/webhook-signature.ts';
import type { SigningSecrets } from '../secrets/signing-secrets.ts';
import type { SentReport, WebhookSender } from '../sending/send-webhook.ts';
import { logInSpan, runInSpan } from '../../platform/tracing/span.ts';
import type { Span } from '../../platform/tracing/span.ts';
import { formatTraceparent } from '../../platform/tracing/trace-context.ts';
import type { DeliveryTraces } from './delivery-traces.ts';
import { afterAttempt } from './after-attempt.ts';
import type { EndedAttempt } from './write-attempts.sql.ts';

export interface AttemptParts {
  readonly sender: Pick<WebhookSender, 'send'>;
  readonly secrets: Pick<SigningSecrets, 'live'>;
  readonly traces?: Pick<DeliveryTraces, 'beginAttempt'>;
  readonly now: () => Date;
  /** The time of this machine's clock. */
  readonly machineNow: () => Date;
  readonly random: () => number;
}

export interface AttemptTerms {
  /** Whether the attempt may still begin. Called immediately before it begins. */
  readonly mayBegin: () => boolean;
  /** The database's clock, which all schedules use. */
  readonly databaseTime: () => Date;
  /** Ends the attempt without an outcome. */
  readonly interrupt: AbortSignal;
}

export type Attempted =
  | { readonly type: 'ended'; readonly attempt: EndedAttempt }
  | { readonly type: 'not_begun' }
  /** It is unknown whether the receiver got it, so it is sent again. */
  | { readonly type: 'interrupted' }
  /** No signing secret was shown yet, so the receiver could not verify the delivery. */
  | { readonly type: 'awaits_secret' }
  /** The delivery could not be signed, this machine could not open a connection, or the program has a defect. */
  | { readonly type: 'failed'; readonly error: unknown };

/** Signs a delivery and sends it once. Never rejects. */
export async function attemptDelivery(
  { sender, secrets, traces, now, machineNow, random }: AttemptParts,
  delivery: OutgoingDelivery,
  { mayBegin, databaseTime, interrupt }: AttemptTerms,
): Promise<Attempted> {
  try {
    const live = await secrets.live(secretOwnerOf(delivery));
    if (live === undefined) return { type: 'awaits_secret' };
    if (!mayBegin()) return { type: 'not_begun' };
    const headers = signedHeaders({
      eventId: delivery.eventId,
      body: delivery.body,
      at: now(),
      secrets: live,
    });
    const span = traces?.beginAttempt(delivery);
    const report = await sendInSpan(span, () =>
      sender.send(delivery, { ...headers, ...traceHeader(span) }, interrupt),
    );
    const endedAt = databaseTime();
    const startedAt = new Date(endedAt.getTime() - report.durationMs);
    const reachedAt = reachedTime({ now: () => endedAt, machineNow });
    const next = afterAttempt(delivery, report, { endedAt, reachedAt }, random);
    return { type: 'ended', attempt: { delivery, report: { ...report, startedAt }, endedAt, next, span } };
  } catch (error) {
    return interrupt.aborted ? { type: 'interrupted' } : { type: 'failed', error };
  }
}

/** The receiver gets the traceparent of a recorded trace only, because any other leads to no trace. */
const traceHeader = (span: Span | undefined): Record<string, string> =>
  span?.context.isSampled === true ? { traceparent: formatTraceparent(span.context) } : {};

/** An attempt whose result is not known ends its span as cut off. */
async function sendInSpan(span: Span | undefined, send: () => Promise<SentReport>): Promise<SentReport> {
  try {
    const report = await runInSpan(span, send);
    if (report.statusCode !== 0) span?.set({ 'http.response.status_code': report.statusCode });
    span?.end(report.result === 'DELIVERED' ? undefined : report.result.toLowerCase());
    return report;
  } catch (error) {
    span?.end('cut_off');
    throw error;
  }
}

/** One log line per attempt. It omits the path and query of the URL, which may contain secrets. */
export function logAttempt(
  logger: Logger,
  { delivery, report, next, span }: EndedAttempt,
  isRecorded: boolean,
): void {
  const line = {
    delivery_id: delivery.id,
    merchant_id: delivery.merchantId,
    environment: delivery.environment.toLowerCase(),
    event_id: delivery.eventId,
    event_type: delivery.eventType,
    order_id: delivery.orderId,
    endpoint: delivery.endpoint,
    attempt: delivery.attemptNumber,
    result: report.result,
    status: report.statusCode,
    duration_ms: Math.round(report.durationMs),
    remote_address: report.remoteAddress,
    ...(next.type === 'again' ? { next_attempt_at: next.at.toISOString() } : {}),
    ...(next.type === 'abandon' ? { abandoned: true } : {}),
    ...(next.type === 'pause' ? { endpoint_paused: true } : {}),
    // Another process holds the lane, or the database refused the result. The delivery may be sent again.
    ...(isRecorded ? {} : { not_recorded: true }),
    detail: report.detail,
    ...(report.hiddenCause === undefined ? {} : { name_failure: report.hiddenCause }),
  };
  const level = report.result === 'DELIVERED' && isRecorded ? 'info' : 'warn';
  logInSpan(span, () => logger[level](line, 'webhook attempt'));
}
