import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { ListRefundsRequestSchema } from '../../gen/gatehouse/v1/refund_service_pb.js';
import { dayNamed, isEmptySpan } from '../local-time.ts';
import { queryOf, textIn } from '../page-query.ts';
import { refundStates } from '../payments/refund-states.ts';

const fields = ['order', 'state', 'from', 'to'] as const;
type Field = (typeof fields)[number];

/** The filter of the list of refunds, from the page's query. */
export interface RefundSearch {
  readonly values: Readonly<Record<Field, string>>;
  readonly isEmpty: boolean;
  readonly pageToken: string;
  /** The fields of the ListRefunds request, without the order. */
  readonly conditions: MessageInitShape<typeof ListRefundsRequestSchema>;
  /** The fields that cannot be searched for, each with its problem. */
  readonly wrong: readonly (readonly [Field, 'wrongDay' | 'wrongOrder' | 'emptySpan'])[];
  /** The query of the same search at a page token. */
  readonly query: (pageToken?: string) => string;
}

export function readRefundSearch(query: unknown, timeZone: string): RefundSearch {
  const given = (name: string): string => textIn(query, name);
  const values = Object.fromEntries(fields.map((name) => [name, given(name)])) as Record<Field, string>;
  const from = dayNamed(values.from, timeZone);
  const to = dayNamed(values.to, timeZone);
  const isState = (text: string): text is keyof typeof refundStates => Object.hasOwn(refundStates, text);
  return {
    values,
    isEmpty: fields.every((name) => values[name] === ''),
    pageToken: given('page'),
    wrong: [
      ...(values.from !== '' && from === undefined ? [['from', 'wrongDay'] as const] : []),
      ...(values.to !== '' && to === undefined ? [['to', 'wrongDay'] as const] : []),
      ...(isEmptySpan(from?.from, to?.to) ? [['to', 'emptySpan'] as const] : []),
      ...(/^[\x21-\x7e]{0,64}$/.test(values.order) ? [] : [['order', 'wrongOrder'] as const]),
    ],
    conditions: {
      statuses: isState(values.state) ? [...refundStates[values.state]] : [],
      ...(from === undefined ? {} : { createTimeFrom: timestampFromDate(from.from) }),
      ...(to === undefined ? {} : { createTimeTo: timestampFromDate(to.to) }),
    },
    query: (pageToken = '') => queryOf({ ...values, page: pageToken }),
  };
}
