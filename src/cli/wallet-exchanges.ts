import { Option } from 'commander';
import type { WalletExchange } from '../gen/gatehouse/v1/payment_attempt_service_pb.js';
import { quote } from './quote.ts';
import { printable, table } from './table.ts';
import { showInstant } from './time.ts';

/** The exchanges to show: the first and the last ones, or all stored ones. */
export type ShownExchanges = 'ends' | 'all';

export const exchangesOption = (): Option =>
  new Option('--exchanges <which>', 'the first and the last exchanges with the wallet, or all of them')
    .choices(['ends', 'all'] satisfies ShownExchanges[])
    .default('ends');

/** The beginning, and the end with room for the callback and the queries after it. */
const shownAtStart = 3;
const shownAtEnd = 5;

/** Enough for a transaction's status and amount. `--exchanges all` shows complete bodies. */
const maxBodyCharacters = 300;

/**
 * Exchanges with a wallet, oldest first. A wallet that decides late is queried many times and gives the same answer. So the
 * exchanges between the first and the last ones are only counted. With 'all', nothing is left out or cut.
 */
export function showExchanges(
  exchanges: readonly WalletExchange[],
  shown: ShownExchanges,
  width: number,
): string {
  const longest = shown === 'all' ? Infinity : maxBodyCharacters;
  const describeAll = (some: readonly WalletExchange[]): string[] =>
    some.map((one) => describeExchange(one, { longest, width }));
  const between = exchanges.slice(shownAtStart, -shownAtEnd);
  if (shown === 'all' || between.length < 2) return describeAll(exchanges).join('\n');
  return [
    ...describeAll(exchanges.slice(0, shownAtStart)),
    `… ${countAll(between)} more: ${countPurposes(between)}`,
    ...describeAll(exchanges.slice(-shownAtEnd)),
  ].join('\n');
}

/** The number of exchanges, including those that are no longer stored. */
const countAll = (exchanges: readonly WalletExchange[]): number =>
  exchanges.reduce((count, { omitted }) => count + Math.max(omitted, 1), 0);

/** Such as "12 query, 1 callback", in the order of their first occurrence. */
function countPurposes(exchanges: readonly WalletExchange[]): string {
  const counts = new Map<string, number>();
  for (const { purpose, omitted } of exchanges)
    counts.set(purpose, (counts.get(purpose) ?? 0) + Math.max(omitted, 1));
  return [...counts].map(([purpose, count]) => `${count} ${printable(purpose)}`).join(', ');
}

/** Both directions. The wallet is the sender of a callback. */
function describeExchange(
  exchange: WalletExchange,
  { longest, width }: { readonly longest: number; readonly width: number },
): string {
  const { startTime, purpose, method, url, requestBody, status, responseBody, error } = exchange;
  if (exchange.omitted > 0)
    return `${showInstant(startTime)}  … ${exchange.omitted} that are no longer stored`;
  const answer = [status === 0 ? '' : String(status), quote(responseBody, longest), error]
    .filter((part) => part !== '')
    .join(' ');
  const lines = [
    ['  >', `${method} ${url}`],
    ...(requestBody === '' ? [] : [['  >', quote(requestBody, longest)]]),
    ...(answer === '' && purpose === 'callback' ? [] : [['  <', answer === '' ? 'no answer' : answer]]),
  ];
  const columns = [{ head: '' }, { head: '', wraps: true }];
  return `${showInstant(startTime)}  ${printable(purpose)}${showTook(exchange)}\n${table(columns, lines, width)}`;
}

function showTook({ duration, status }: WalletExchange): string {
  if (duration === undefined || status === 0) return '';
  return `, ${Number(duration.seconds) * 1000 + Math.round(duration.nanos / 1e6)} ms`;
}
