import type { WalletDirectory } from '../../contract/wallet-directory.ts';
import { timestampDate } from '@bufbuild/protobuf/wkt';
import type {
  CollectedAmount,
  FailureCount,
  GetOrderReportResponse,
  RefundedAmount,
} from '../../gen/gatehouse/v1/report_service_pb.js';
import { amountText } from '../../contract/amount-text.ts';
import { timeLocales } from '../../platform/language/language.ts';
import type { Language } from '../../platform/language/language.ts';
import { numberFormat, timeFormat } from '../../platform/language/formats.ts';
import type { home } from '../language/english/home.ts';
import { momentOf } from '../moment-text.ts';
import { optionText } from '../payments/order-words.ts';
import type { OrderWords } from '../payments/order-words.ts';

export interface HomeWriting {
  readonly words: typeof home;
  readonly orderWords: OrderWords;
  readonly wallets: WalletDirectory;
  readonly language: Language;
  readonly timeZone: string;
}

export type Step = 'hour' | 'day';

/**
 * A report for the page. Payments that the wallet or the payer declined are failed. Orders that were cancelled, that
 * expired, or whose last payment was never sent are abandoned. They do not count in the success rate.
 */
export function reportView(report: GetOrderReportResponse, step: Step, now: Date, writing: HomeWriting) {
  const { words, orderWords, wallets, language, timeZone } = writing;
  const count = (number: bigint): string => numberFormat(language).format(number);
  const amounts = (money: readonly (CollectedAmount | RefundedAmount)[]): string[] =>
    money.map(({ amount, currency }) => amountText(amount, currency, language));
  const label = timeFormat(timeLocales[language], {
    timeZone,
    ...(step === 'hour'
      ? { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }
      : { day: 'numeric', month: 'short' }),
  });
  const total = report.total;
  const succeeded = report.options.reduce((sum, option) => sum + option.succeeded, 0n);
  const failed = report.options.reduce((sum, option) => sum + option.failed, 0n);
  const abandoned = total === undefined ? 0n : total.expired + total.cancelled;
  const reasonsOf = (list: readonly FailureCount[]) => {
    const all = list.reduce((sum, { count: times }) => sum + times, 0n);
    return list.map(({ reason, count: times }) => ({
      reason: words.failures.reasons[reason] ?? reason,
      count: count(times),
      share: shareOf(times, all),
    }));
  };
  return {
    registered: count(total?.registered ?? 0n),
    completed: count(total?.completed ?? 0n),
    collected: amounts(total?.collected ?? []),
    refunded: amounts(total?.refunded ?? []),
    successRate: rateText(succeeded, succeeded + failed, language),
    successOf: words.tiles.successOf(count(succeeded), count(succeeded + failed)),
    abandoned: count(abandoned),
    behind: momentOf(report.behindSince, language, timeZone),
    intervals: report.intervals.flatMap(({ startTime, counts }) => {
      if (startTime === undefined || counts === undefined) return [];
      const { registered, completed, failed: ended, expired, cancelled, collected, refunded } = counts;
      const numbers = { registered, completed, failed: ended - cancelled, abandoned: expired + cancelled };
      return [
        {
          // An interval in the future is not an interval without orders.
          isAhead: timestampDate(startTime) > now,
          label: label.format(timestampDate(startTime)),
          numbers: Object.entries(numbers).map(([name, number]) => ({
            name: name as keyof typeof numbers,
            value: Number(number),
            text: count(number),
          })),
          collected: amounts(collected),
          refunded: amounts(refunded),
        },
      ];
    }),
    failures: reasonsOf(report.failures),
    abandonments: reasonsOf(report.abandoned),
    options: report.options.map((option) => ({
      option: optionText(option.paymentOption, { words: orderWords, language, wallets }),
      succeeded: count(option.succeeded),
      failed: count(option.failed),
      rate: rateText(option.succeeded, option.succeeded + option.failed, language) ?? orderWords.none,
      collected: amounts(option.collected),
      refunded: amounts(option.refunded),
    })),
  };
}

/** Undefined when the total is zero. */
function rateText(part: bigint, whole: bigint, language: Language): string | undefined {
  if (whole === 0n) return undefined;
  const format = numberFormat(language, { style: 'percent', maximumFractionDigits: 1 });
  return format.format(Number(part) / Number(whole));
}

const shareOf = (part: bigint, whole: bigint): number => Math.round((Number(part) / Number(whole)) * 100);
