import { durationMs, timestampMs, timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { Timestamp } from '@bufbuild/protobuf/wkt';
import { OrderEventType, PaymentAttemptStatus, RefundStatus } from '../../gen/gatehouse/v1/order_pb.js';
import type { OrderEvent, PaymentAttempt, Refund } from '../../gen/gatehouse/v1/order_pb.js';
import type { PaymentAttemptStory } from '../../gen/gatehouse/v1/order_story_service_pb.js';
import { StrayPaymentStatus } from '../../gen/gatehouse/v1/stray_payment_service_pb.js';
import type { StrayPayment } from '../../gen/gatehouse/v1/stray_payment_service_pb.js';
import { DeliveryAttemptResult, DeliveryState } from '../../gen/gatehouse/v1/webhook_service_pb.js';
import type { OrderDelivery } from '../../gen/gatehouse/v1/webhook_service_pb.js';
import { amountText } from '../../contract/amount-text.ts';
import { endedUnsent } from '../../contract/ended-unsent.ts';
import { isCancellation } from '../../contract/is-cancellation.ts';
import type { Language } from '../../platform/language/language.ts';
import { momentFormat } from '../../platform/language/moment-text.ts';
import type { MomentFormat } from '../../platform/language/moment-text.ts';
import { numberFormat } from '../../platform/language/formats.ts';
import type { home } from '../language/english/home.ts';
import type { order } from '../language/english/order.ts';
import type { refunds } from '../language/english/refunds.ts';
import { failureDetail } from '../developers/failure-detail.ts';
import { momentOf } from '../moment-text.ts';
import { optionText } from './order-words.ts';
import type { OrderWriting } from './order-words.ts';

type Words = (typeof order)['story'];
type Tone = 'good' | 'bad' | 'warn' | undefined;

/** One step of the order's history. */
export interface StoryEntry {
  readonly kind: keyof Words['kinds'];
  readonly at: Timestamp | undefined;
  readonly tone: Tone;
  readonly title: string;
  readonly notes: readonly string[];
  /** A text from outside, such as a wallet's answer. */
  readonly texts: readonly { readonly label: string; readonly text: string }[];
  readonly href?: string | undefined;
  /** The number of steps that this entry combines; one when absent. */
  readonly steps?: number;
}

export interface StoryWriting extends OrderWriting {
  readonly story: Words;
  readonly summary: (typeof order)['summary'];
  readonly reasons: (typeof home)['failures']['reasons'];
  /** By the failure reason of a refund. */
  readonly refundFailures: (typeof refunds)['failures'];
}

/** The words of a story that has payment attempts. */
export interface AttemptWriting extends StoryWriting {
  /** The ids of the attempts whose wallets have no request. */
  readonly unsentAttempts: ReadonlySet<string>;
}

/** Why an attempt ended without a debit, in words; '' for other attempts. */
export function reasonOf(
  { status, declineReason, paymentAttemptId }: PaymentAttempt,
  { reasons, unsentAttempts }: Pick<AttemptWriting, 'reasons' | 'unsentAttempts'>,
): string {
  const timedOut = unsentAttempts.has(paymentAttemptId) ? 'not_sent' : 'timed_out';
  const reason = status === PaymentAttemptStatus.TIMED_OUT ? timedOut : declineReason;
  return reason === '' ? '' : (reasons[reason] ?? reason);
}

/** Why an event did not pay its order; '' for an event of another kind. */
export function reasonOfEvent(
  event: OrderEvent,
  writing: Pick<AttemptWriting, 'reasons' | 'unsentAttempts'>,
): string {
  if (event.paymentAttempt === undefined || isCancellation(event)) return '';
  return endedUnsent(event)
    ? (writing.reasons['money_not_returned'] ?? '')
    : reasonOf(event.paymentAttempt, writing);
}

const noteLines = (text: string): readonly string[] => (text === '' ? [] : [text]);
const labelled = (label: string, text: string) => (text === '' ? [] : [{ label, text }]);

/** An event of the order. `refundHref` is the path of a refund's page. */
export function eventEntry(
  event: OrderEvent,
  writing: AttemptWriting,
  refundHref: (refundId: string) => string,
): StoryEntry {
  if (event.refund !== undefined) return refundEntry(event, event.refund, writing, refundHref);
  const { story, words, reasons, language } = writing;
  const { paymentAttempt: attempt, order: left } = event;
  const reason = reasonOfEvent(event, writing);
  const why = reason === '' ? [] : [reason];
  const base = {
    kind: 'event' as const,
    at: event.occurTime,
    texts: [],
    notes: event.requestId === '' ? [] : [story.request(event.requestId)],
  };
  switch (event.type) {
    case OrderEventType.PAYMENT_STARTED: {
      const option = attempt === undefined ? words.none : optionText(attempt.paymentOption, writing);
      return { ...base, tone: undefined, title: story.events.started(option, attempt?.phone ?? words.none) };
    }
    case OrderEventType.PAYMENT_DECLINED:
      return { ...base, tone: 'warn', title: story.events.declined, notes: [...why, ...base.notes] };
    case OrderEventType.COMPLETED: {
      const money =
        left === undefined ? [] : [story.collected(amountText(left.deducted, left.currency, language))];
      return { ...base, tone: 'good', title: story.events.completed, notes: [...money, ...base.notes] };
    }
    case OrderEventType.FAILED:
      return {
        ...base,
        tone: 'bad',
        title: story.events.failed,
        notes: [...(why.length === 0 ? [reasons['cancelled'] ?? ''] : why), ...base.notes],
      };
    case OrderEventType.EXPIRED:
      return { ...base, tone: 'warn', title: story.events.expired };
    case OrderEventType.STRAY_PAYMENT_SETTLED:
      return {
        ...base,
        tone: 'good',
        title: story.events.straySettled,
        notes: [story.settled, ...base.notes],
      };
    default:
      return { ...base, tone: undefined, title: story.events.created };
  }
}

function refundEntry(
  event: OrderEvent,
  refund: Refund,
  { story, reasons, refundFailures, language }: StoryWriting,
  refundHref: (refundId: string) => string,
): StoryEntry {
  const { events } = story;
  const amount = amountText(refund.amount, refund.currency, language);
  const settled = event.settlementId === '' ? [] : [story.settled];
  const request = event.requestId === '' ? [] : [story.request(event.requestId)];
  const base = {
    kind: 'refund' as const,
    at: event.occurTime,
    texts: [],
    href: refundHref(refund.refundId),
    notes: [...settled, ...request],
  };
  switch (event.type) {
    case OrderEventType.REFUND_APPROVED:
      return { ...base, tone: undefined, title: events.refundApproved(amount) };
    case OrderEventType.REFUND_COMPLETED:
      return { ...base, tone: 'good', title: events.refundCompleted(amount) };
    case OrderEventType.REFUND_FAILED: {
      const { failureReason: code } = refund;
      const why = code === '' ? [] : [refundFailures[code]?.reason ?? reasons[code] ?? code];
      return { ...base, tone: 'bad', title: events.refundFailed(amount), notes: [...why, ...base.notes] };
    }
    default: {
      const isAwaiting = refund.status === RefundStatus.AWAITING_APPROVAL;
      return {
        ...base,
        tone: isAwaiting ? 'warn' : undefined,
        title: isAwaiting ? events.refundAwaiting(amount) : events.refundRequested(amount),
        notes: [story.refundReason(refund.reason), ...base.notes],
      };
    }
  }
}

/** The exchanges with the wallet, with their original text. */
export function exchangeEntries(
  { paymentAttempt, exchanges }: PaymentAttemptStory,
  writing: StoryWriting,
): StoryEntry[] {
  const { story, words, language } = writing;
  const option =
    paymentAttempt === undefined ? words.none : optionText(paymentAttempt.paymentOption, writing);
  const format = numberFormat(language);
  return exchanges.map((exchange): StoryEntry => {
    const { startTime, status, error, omitted, duration } = exchange;
    if (omitted > 0) {
      const title = story.omitted(format.format(omitted));
      return { kind: 'wallet', at: startTime, tone: undefined, title, notes: [], texts: [] };
    }
    // A callback is the wallet's request. Our answer to it is not stored.
    const isTheirs = exchange.purpose === 'callback' && error === '';
    const outcome = status === 0 ? error || story.noAnswer : String(status);
    return {
      kind: 'wallet',
      at: startTime,
      tone: !isTheirs && (status === 0 || status >= 500) ? 'warn' : undefined,
      title: story.exchange(story.purposes[exchange.purpose] ?? exchange.purpose, option),
      notes: [
        isTheirs ? exchange.method : `${exchange.method} → ${outcome}`,
        ...(isTheirs || duration === undefined ? [] : [story.took(format.format(durationMs(duration)))]),
        ...(exchange.decisive ? [story.decisive] : []),
      ],
      texts: [
        ...labelled('URL', exchange.url),
        ...labelled(story.sent, exchange.requestBody),
        ...labelled(story.answered, exchange.responseBody),
      ],
    };
  });
}

export function webhookEntries(
  { delivery, attempts }: OrderDelivery,
  href: string,
  results: (result: DeliveryAttemptResult) => string,
  { story, language }: StoryWriting,
): StoryEntry[] {
  if (delivery === undefined) return [];
  const format = numberFormat(language);
  if (attempts.length === 0) {
    const isAbandoned = delivery.state === DeliveryState.GIVEN_UP;
    return [
      {
        kind: 'webhook',
        at: delivery.createTime,
        tone: isAbandoned ? 'bad' : undefined,
        title: isAbandoned
          ? story.webhookAbandoned(delivery.eventType)
          : story.webhookWaiting(delivery.eventType),
        notes: [delivery.url],
        texts: [],
        href,
      },
    ];
  }
  return attempts.map((attempt) => ({
    kind: 'webhook',
    at: attempt.startTime,
    tone: attempt.result === DeliveryAttemptResult.DELIVERED ? 'good' : 'bad',
    title: story.webhook(delivery.eventType, format.format(attempt.number)),
    notes: [
      attempt.statusCode === 0
        ? results(attempt.result)
        : `${attempt.statusCode}: ${results(attempt.result)}`,
      ...(attempt.duration === undefined ? [] : [story.took(format.format(durationMs(attempt.duration)))]),
      ...noteLines(failureDetail(attempt.result, attempt.detail, language).text),
    ],
    texts: labelled(story.answered, attempt.responseBody),
    href,
  }));
}

export function strayEntry(stray: StrayPayment, { story, language }: StoryWriting): StoryEntry {
  const states = {
    [StrayPaymentStatus.REVERSED]: story.strayStates.reversed,
    [StrayPaymentStatus.REVERSAL_REFUSED]: story.strayStates.refused,
  } as Readonly<Record<number, string>>;
  return {
    kind: 'stray',
    at: stray.createTime,
    tone: 'warn',
    title: story.stray(amountText(stray.amount, stray.currency, language)),
    notes: [states[stray.status] ?? story.strayStates.due],
    texts: [],
  };
}

export const millisecondsOf = (time: Timestamp | undefined): number =>
  time === undefined ? 0 : timestampMs(time);
const timeOf = ({ at }: StoryEntry): number => millisecondsOf(at);

/** With seconds, because many steps happen within a minute. */
export const secondsIn = (language: Language, timeZone: string): MomentFormat =>
  momentFormat(language, timeZone, 'medium');

/** Steps that changed the order or its money. Other steps are technical, and folded on the page. */
const isPlain = ({ kind }: StoryEntry): boolean => kind === 'event' || kind === 'stray' || kind === 'refund';

/** The steps, oldest first. Consecutive technical steps are combined into one item. */
export function storyItems(entries: readonly StoryEntry[], { story, language, timeZone }: StoryWriting) {
  const seconds = secondsIn(language, timeZone);
  const shown = (entry: StoryEntry) => ({
    ...entry,
    kind: { name: entry.kind, text: story.kinds[entry.kind] },
    at: entry.at && {
      ...momentOf(timestampFromMs(timeOf(entry)), language, timeZone),
      text: seconds.format(timeOf(entry)),
    },
  });
  const items: StoryEntry[][] = [];
  for (const entry of entries.toSorted((a, b) => timeOf(a) - timeOf(b))) {
    const run = items.at(-1);
    const [first] = run ?? [];
    if (run === undefined || first === undefined || isPlain(entry) || isPlain(first)) items.push([entry]);
    else run.push(entry);
  }
  const format = numberFormat(language);
  return items.map((run) => {
    const steps = run.map(shown);
    const [first] = run;
    if (first !== undefined && isPlain(first)) return { entry: steps[0], steps: undefined };
    const count = run.reduce((sum, each) => sum + (each.steps ?? 1), 0);
    const kinds = [...Map.groupBy(steps, ({ kind }) => kind.text).keys()];
    const isTrouble = run.some(({ tone }) => tone === 'bad' || tone === 'warn');
    const text = story.steps(format.format(count), kinds.join(', '), isTrouble);
    return { entry: undefined, steps: { text, entries: steps } };
  });
}
