import { timestampDate } from '@bufbuild/protobuf/wkt';
import type {
  CollectedAmount,
  GetOrderReportResponse,
  OrderCounts,
} from '../../gen/gatehouse/v1/report_service_pb.js';
import { amountText } from '../../runtime/language/amount-text.ts';
import type { Language } from '../../runtime/language/language.ts';
import type { home } from '../language/english/home.ts';
import { momentOf } from '../moment-text.ts';
import { optionText } from '../payments/order-words.ts';
import type { OrderWords } from '../payments/order-words.ts';

export interface HomeWriting {
  readonly words: typeof home;
  readonly orderWords: OrderWords;
  readonly language: Language;
  readonly timeZone: string;
}

export type Step = 'hour' | 'day';

/** A report as the page shows it. */
export function reportView(report: GetOrderReportResponse, step: Step, writing: HomeWriting) {
  const { words, orderWords, language, timeZone } = writing;
  const count = (number: bigint): string => new Intl.NumberFormat(language).format(number);
  const amounts = (collected: readonly CollectedAmount[]): string[] =>
    collected.map(({ amount, currency }) => amountText(amount, currency, language));
  const label = new Intl.DateTimeFormat(language === 'en' ? 'en-GB' : 'am-ET', {
    timeZone,
    ...(step === 'hour'
      ? { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }
      : { day: 'numeric', month: 'short' }),
  });
  const total = report.total;
  return {
    registered: count(total?.registered ?? 0n),
    completed: count(total?.completed ?? 0n),
    collected: amounts(total?.collected ?? []),
    successRate: total === undefined ? undefined : rateText(total.completed, endedIn(total), language),
    behind: momentOf(report.behindSince, language, timeZone),
    intervals: report.intervals.flatMap(({ startTime, counts }) => {
      if (startTime === undefined || counts === undefined) return [];
      const { registered, completed, failed, expired, collected } = counts;
      return [
        {
          label: label.format(timestampDate(startTime)),
          registered: { value: Number(registered), text: count(registered) },
          completed: { value: Number(completed), text: count(completed) },
          failed: { value: Number(failed + expired), text: count(failed + expired) },
          collected: amounts(collected),
        },
      ];
    }),
    failures: report.failures.map(({ reason, count: times }) => ({
      reason: words.failures.reasons[reason] ?? reason,
      count: count(times),
      share: shareOf(times, report.failures[0]?.count ?? 1n),
    })),
    options: report.options.map((option) => ({
      option: optionText(option.paymentOption, orderWords),
      succeeded: count(option.succeeded),
      failed: count(option.failed),
      rate: rateText(option.succeeded, option.succeeded + option.failed, language) ?? orderWords.none,
      collected: amounts(option.collected),
    })),
  };
}

const endedIn = ({ completed, failed, expired }: OrderCounts): bigint => completed + failed + expired;

/** Undefined when there is nothing to have a part of. */
function rateText(part: bigint, whole: bigint, language: Language): string | undefined {
  if (whole === 0n) return undefined;
  const format = new Intl.NumberFormat(language, { style: 'percent', maximumFractionDigits: 1 });
  return format.format(Number(part) / Number(whole));
}

const shareOf = (part: bigint, most: bigint): number => Math.round((Number(part) / Number(most)) * 100);
