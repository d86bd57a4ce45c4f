import { timestampDate } from '@bufbuild/protobuf/wkt';
import type { Timestamp } from '@bufbuild/protobuf/wkt';
import type { ListOrdersRequest } from '../../gen/gatehouse/v1/order_service_pb.js';
import { combine } from '../domain/combine.ts';
import type { Issue } from '../domain/issue.ts';
import { err, ok } from '../domain/result.ts';
import type { Result } from '../domain/result.ts';
import { parseEnvironment } from '../rpc/environment.ts';
import { parsePageSize, parsePageToken } from '../rpc/page-token.ts';
import { parseId } from '../rpc/request-fields.ts';
import { statusOf } from '../rpc/order-messages.ts';
import type { OrderFilter } from './order-store.ts';

/** Reads which orders to list; `key` is what a page token is bound to. */
export function parseOrderFilter(
  request: ListOrdersRequest,
): Result<{ filter: OrderFilter; key: unknown }, readonly Issue[]> {
  const { merchantId, environment, statuses, createTimeFrom, createTimeTo, orderNumberPrefix } = request;
  const key = [
    merchantId,
    environment,
    statuses,
    keyOf(createTimeFrom),
    keyOf(createTimeTo),
    orderNumberPrefix,
  ];
  const parsed = combine({
    merchantId: parseId('mer', merchantId, 'merchant_id'),
    environment: parseEnvironment(environment),
    statuses: parseStatuses(request),
    createdFrom: parseTime(createTimeFrom, 'create_time_from'),
    createdTo: parseTime(createTimeTo, 'create_time_to'),
    orderNumberPrefix: parsePrefix(orderNumberPrefix),
    beforeId: parsePageToken(request.pageToken, 'ord', key),
    limit: parsePageSize(request.pageSize),
  });
  return parsed.ok ? ok({ filter: parsed.value, key }) : parsed;
}

const keyOf = (time: Timestamp | undefined): string | undefined => time && `${time.seconds}.${time.nanos}`;

/** The span that protobuf's Timestamp is defined for: years 1 to 9999. */
const firstSecond = -62_135_596_800n;
const lastSecond = 253_402_300_799n;

function parseTime(time: Timestamp | undefined, field: string): Result<Date | undefined, Issue> {
  if (time === undefined) return ok(undefined);
  if (time.seconds < firstSecond || time.seconds > lastSecond) {
    return err({ field, issue: 'must be a time between the years 1 and 9999' });
  }
  return ok(timestampDate(time));
}

function parseStatuses({ statuses }: ListOrdersRequest): Result<OrderFilter['statuses'], Issue> {
  const known = statuses.map(statusOf).filter((status) => status !== undefined);
  if (known.length < statuses.length)
    return err({ field: 'statuses', issue: 'must be PENDING, COMPLETED, FAILED or EXPIRED' });
  return ok(known);
}

function parsePrefix(prefix: string): Result<string, Issue> {
  if (!/^[\x21-\x7e]{0,64}$/.test(prefix)) {
    return err({
      field: 'order_number_prefix',
      issue: 'must be at most 64 printable ASCII characters without spaces',
    });
  }
  return ok(prefix);
}
