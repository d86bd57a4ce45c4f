import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { Timestamp } from '@bufbuild/protobuf/wkt';
import { isEmptySpan, timeNamed } from '../local-time.ts';
import { pageQuery, textIn } from '../page-query.ts';
import { ApiEndpoint, ApiRequestOutcome } from '../../gen/gatehouse/v1/request_log_service_pb.js';

export const outcomes = {
  succeeded: ApiRequestOutcome.SUCCEEDED,
  refused: ApiRequestOutcome.REFUSED,
  failed: ApiRequestOutcome.FAILED,
} as const;

export const endpoints = {
  register: ApiEndpoint.REGISTER,
  direct: ApiEndpoint.DIRECT,
  verify: ApiEndpoint.VERIFY,
  refund: ApiEndpoint.REFUND,
  verify_refund: ApiEndpoint.VERIFY_REFUND,
  explain: ApiEndpoint.EXPLAIN,
} as const;

/** The filter of the request log, from the page's query. */
export interface RequestFilter {
  /** The values to show again in the form. */
  readonly values: Readonly<Record<(typeof names)[number], string>>;
  readonly isEmpty: boolean;
  /** Whether no time lies between the filter's times. */
  readonly isEmptySpan: boolean;
  /** Whether the page is not the first. */
  readonly isLaterPage: boolean;
  /** The fields of the ListApiRequests request. */
  readonly conditions: {
    readonly outcome: ApiRequestOutcome;
    readonly endpoint: ApiEndpoint;
    readonly orderNumber: string;
    readonly requestId: string;
    readonly createTimeFrom?: Timestamp;
    readonly createTimeTo?: Timestamp;
    readonly pageToken: string;
  };
  /** The query of the page at a token; undefined without a token. */
  readonly withPage: (pageToken: string) => string | undefined;
}

const names = ['outcome', 'endpoint', 'order_number', 'request_id', 'from', 'to'] as const;

/** Longer than any order_number or request id that can be in the log. */
const maxText = 64;

const valueOf = <T>(words: Readonly<Record<string, T>>, word: string): T | undefined =>
  Object.hasOwn(words, word) ? words[word] : undefined;

/** An invalid time, in the form of HTML inputs, is ignored. */
export function readRequestFilter(query: unknown, timeZone: string): RequestFilter {
  const given = (name: string): string => textIn(query, name, maxText);
  const outcome = valueOf(outcomes, given('outcome'));
  const endpoint = valueOf(endpoints, given('endpoint'));
  const from = timeNamed(given('from'), timeZone);
  const to = timeNamed(given('to'), timeZone);
  const pageToken = textIn(query, 'page');
  const values = {
    outcome: outcome === undefined ? '' : given('outcome'),
    endpoint: endpoint === undefined ? '' : given('endpoint'),
    order_number: given('order_number'),
    request_id: given('request_id'),
    from: from === undefined ? '' : given('from'),
    to: to === undefined ? '' : given('to'),
  };
  return {
    values,
    isEmpty: names.every((name) => values[name] === ''),
    isEmptySpan: isEmptySpan(from, to),
    isLaterPage: pageToken !== '',
    conditions: {
      outcome: outcome ?? ApiRequestOutcome.UNSPECIFIED,
      endpoint: endpoint ?? ApiEndpoint.UNSPECIFIED,
      orderNumber: values.order_number,
      requestId: values.request_id,
      ...(from === undefined ? {} : { createTimeFrom: timestampFromDate(from) }),
      ...(to === undefined ? {} : { createTimeTo: timestampFromDate(to) }),
      pageToken,
    },
    withPage: (next) => pageQuery(values, next),
  };
}
