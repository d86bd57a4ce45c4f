import type { Counter } from 'prom-client';
import {
  ApiEndpoint as EndpointMessage,
  ApiRequestOutcome,
  RequestLogService,
} from '../../gen/gatehouse/v1/request_log_service_pb.js';
import type {
  ApiRequest as RequestMessage,
  ListApiRequestsRequest,
  RecordApiRequestsRequest,
} from '../../gen/gatehouse/v1/request_log_service_pb.js';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { FairCalls } from '../../platform/fair-calls.ts';
import { maskSensitive } from '../../platform/mask-sensitive.ts';
import { createdAtOf, publicId, storedId } from '../../contract/public-id.ts';
import { annotate } from '../../platform/rpc/call-context.ts';
import { pageTokenAfter } from '../../platform/rpc/page-token.ts';
import { rpcError } from '../../contract/error-reason.ts';
import { rpcService } from '../../contract/rpc-service.ts';
import type { RpcService } from '../../platform/rpc/rpc-service.ts';
import type { ApiEndpoint } from '../database/request-log-entities.ts';
import { combine } from '../domain/combine.ts';
import type { Issue } from '../domain/issue.ts';
import { err, ok } from '../domain/result.ts';
import type { Result } from '../domain/result.ts';
import { apiEndpoints, apiRequestMessage } from '../rpc/api-request-message.ts';
import { wordOf } from '../rpc/enum-words.ts';
import { parseEnvironment } from '../rpc/environment.ts';
import { parsePageSize, parsePageToken } from '../rpc/page-token.ts';
import { parseId, valuesOrThrow } from '../rpc/request-fields.ts';
import { parseEnd, parseTime, timeKey } from '../rpc/time-fields.ts';
import type { RequestLogStore, RequestReport } from './request-log-store.ts';
import type { RequestFilter } from './search-requests.sql.ts';

export interface RequestLogMetrics {
  readonly kept: Counter;
  readonly unkept: Counter;
  readonly unauthenticated: Counter;
}

const maxRequests = 500;
const maxUnkept = 1_000;
const maxBody = 4_096;
const maxFilterText = 64;

/**
 * gatehouse.v1.RequestLogService.
 * @param searchFairly limits the lists that are read at a time, by merchant and environment
 */
export function requestLogService(
  store: RequestLogStore,
  metrics: RequestLogMetrics,
  searchFairly: FairCalls,
): RpcService {
  return rpcService(
    RequestLogService,
    {
      async recordApiRequests(request, context) {
        const report = parseReport(request);
        annotate(context, { items: report.requests.length, unkept: report.unkept.length });
        await store.record(report, context.signal);
        metrics.kept.inc(report.requests.length);
        metrics.unkept.inc(report.unkept.reduce((sum, { count }) => sum + Number(count), 0));
        metrics.unauthenticated.inc(Number(request.unauthenticated));
        return {};
      },
      async listApiRequests(request, { signal }) {
        const { filter, key } = parseFilter(request);
        const { merchantId, environment } = filter;
        const [{ requests, searchedTo }, unkept] = await searchFairly(
          { owner: `${environment} ${merchantId}` },
          signal,
          () => Promise.all([store.list(filter), store.unkept(merchantId, environment)]),
        );
        const page = { requests: requests.map(apiRequestMessage), unkept };
        if (searchedTo === undefined) return page;
        const last = publicId('req', searchedTo);
        return {
          ...page,
          nextPageToken: pageTokenAfter(last, key),
          searchedBackTo: timestampFromDate(createdAtOf('req', last)),
        };
      },
      async getApiRequest(request) {
        const { merchantId, environment, id } = valuesOrThrow(
          combine({
            merchantId: parseId('mer', request.merchantId, 'merchant_id'),
            environment: parseEnvironment(request.environment),
            id: parseId('req', request.apiRequestId, 'api_request_id'),
          }),
        );
        const found = await store.find(storedId('mer', merchantId), environment, storedId('req', id));
        if (found === undefined)
          throw rpcError('API_REQUEST_NOT_FOUND', `the merchant has no request ${id} of the last 7 days`);
        return { request: apiRequestMessage(found) };
      },
    },
    {
      recordApiRequests: ['facade'],
      listApiRequests: ['dashboard', 'operator', 'reader'],
      getApiRequest: ['dashboard', 'operator', 'reader'],
    },
  );
}

const endpointOf = (number: EndpointMessage): ApiEndpoint | undefined => wordOf(apiEndpoints, number);

/** PostgreSQL cannot store NUL, and no legitimate request contains it. */
const storableText = (value: string, max = 255): string => value.replaceAll('\0', '\uFFFD').slice(0, max);

function parseReport({ requests, unkept, unauthenticated }: RecordApiRequestsRequest): RequestReport {
  if (requests.length > maxRequests || unkept.length > maxUnkept) {
    const issue = `must be at most ${maxRequests} requests and ${maxUnkept} counts in one call`;
    valuesOrThrow(err({ field: 'requests', issue }));
  }
  valuesOrThrow(parseCount(unauthenticated, 'unauthenticated'));
  return {
    requests: requests.map((request, index) => parseRequest(request, `requests[${index}]`)),
    unkept: unkept.map(({ merchantId, environment, count }, index) => {
      const values = valuesOrThrow(
        combine({
          merchantId: parseId('mer', merchantId, `unkept[${index}].merchant_id`),
          environment: parseEnvironment(environment),
          count: parseCount(count, `unkept[${index}].count`),
        }),
      );
      return { ...values, merchantId: storedId('mer', values.merchantId) };
    }),
  };
}

const parseCount = (count: bigint, field: string): Result<bigint, Issue> =>
  count < 0n ? err({ field, issue: 'must not be negative' }) : ok(count);

function parseRequest(request: RequestMessage, field: string): RequestReport['requests'][number] {
  const endpoint = endpointOf(request.endpoint);
  const values = valuesOrThrow(
    combine({
      id: parseId('req', request.apiRequestId, `${field}.api_request_id`),
      merchantId: parseId('mer', request.merchantId, `${field}.merchant_id`),
      apiKeyId: parseId('key', request.apiKeyId, `${field}.api_key_id`),
      environment: parseEnvironment(request.environment),
      endpoint:
        endpoint === undefined ? err({ field: `${field}.endpoint`, issue: 'is required' }) : ok(endpoint),
      status: parseStatus(request.status, `${field}.status`),
    }),
  );
  return {
    ...values,
    id: storedId('req', values.id),
    merchantId: storedId('mer', values.merchantId),
    apiKeyId: storedId('key', values.apiKeyId),
    requestId: storableText(request.requestId),
    method: storableText(request.method, 16),
    path: storableText(request.path),
    reason: storableText(request.reason, 64),
    durationMicros: request.durationMicros,
    orderNumber: storableText(request.orderNumber),
    requestBody: storableText(request.requestBody, maxBody),
    responseBody: storableText(request.responseBody, maxBody),
  };
}

const parseStatus = (status: number, field: string): Result<number, Issue> =>
  status >= 200 && status <= 599
    ? ok(status)
    : err({ field, issue: 'must be an HTTP status from 200 to 599' });

function parseFilter(request: ListApiRequestsRequest): { filter: RequestFilter; key: unknown } {
  const { merchantId, environment, outcome, endpoint, orderNumber, requestId } = request;
  const { createTimeFrom, createTimeTo } = request;
  const key = [merchantId, environment, outcome, endpoint, orderNumber, requestId].concat(
    timeKey(createTimeFrom),
    timeKey(createTimeTo),
  );
  const parsed = valuesOrThrow(
    combine({
      merchantId: parseId('mer', merchantId, 'merchant_id'),
      environment: parseEnvironment(environment),
      statuses: parseOutcome(outcome),
      endpoint: parseEndpoint(endpoint),
      orderNumber: parseExact(orderNumber, 'order_number'),
      requestId: parseExact(requestId, 'request_id'),
      createdFrom: parseTime(createTimeFrom, 'create_time_from'),
      createdTo: parseEnd(createTimeTo, 'create_time_to', {
        from: createTimeFrom,
        fromField: 'create_time_from',
      }),
      beforeId: parsePageToken(request.pageToken, 'req', key),
      limit: parsePageSize(request.pageSize),
    }),
  );
  const beforeId = parsed.beforeId === undefined ? undefined : storedId('req', parsed.beforeId);
  return {
    filter: {
      ...parsed,
      merchantId: storedId('mer', parsed.merchantId),
      beforeId,
      // Masked like the stored values, in which a text with the form of a phone number or key is masked.
      orderNumber: maskSensitive(parsed.orderNumber),
    },
    key,
  };
}

function parseOutcome(outcome: ApiRequestOutcome): Result<RequestFilter['statuses'], Issue> {
  switch (outcome) {
    case ApiRequestOutcome.UNSPECIFIED:
      return ok(undefined);
    case ApiRequestOutcome.SUCCEEDED:
      return ok([200, 300]);
    case ApiRequestOutcome.REFUSED:
      return ok([400, 500]);
    case ApiRequestOutcome.FAILED:
      return ok([500, 600]);
    default:
      return err({ field: 'outcome', issue: 'must be SUCCEEDED, REFUSED or FAILED' });
  }
}

function parseEndpoint(number: EndpointMessage): Result<ApiEndpoint | undefined, Issue> {
  if (number === EndpointMessage.UNSPECIFIED) return ok(undefined);
  const endpoint = endpointOf(number);
  return endpoint === undefined
    ? err({ field: 'endpoint', issue: 'must be REGISTER, DIRECT, VERIFY, REFUND, VERIFY_REFUND or EXPLAIN' })
    : ok(endpoint);
}

/** Refuses texts that the log cannot contain. A search for them would always be empty. */
function parseExact(value: string, field: string): Result<string, Issue> {
  if (value.length <= maxFilterText && !value.includes('\0')) return ok(value);
  return err({ field, issue: `must be at most ${maxFilterText} characters, without NUL` });
}
