import { create } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import {
  ApiEndpoint as EndpointMessage,
  ApiRequestSchema,
} from '../../gen/gatehouse/v1/request_log_service_pb.js';
import type { ApiRequest as ApiRequestMessage } from '../../gen/gatehouse/v1/request_log_service_pb.js';
import { publicId } from '../../contract/public-id.ts';
import type { StoredId } from '../../contract/public-id.ts';
import type { ApiEndpoint, ApiRequestRow } from '../database/request-log-entities.ts';
import { environmentNumbers } from './environment.ts';

/** The columns with the bodies of a stored request. Lists do not read them. */
export const apiRequestBodies = ['requestBody', 'responseBody'] as const;

type Bodies = (typeof apiRequestBodies)[number];
type Stored = Omit<ApiRequestRow, symbol>;

/** The contract's number for an endpoint of the merchant API. */
export const apiEndpoints = {
  REGISTER: EndpointMessage.REGISTER,
  DIRECT: EndpointMessage.DIRECT,
  VERIFY: EndpointMessage.VERIFY,
  REFUND: EndpointMessage.REFUND,
  VERIFY_REFUND: EndpointMessage.VERIFY_REFUND,
  EXPLAIN: EndpointMessage.EXPLAIN,
} as const satisfies Record<ApiEndpoint, EndpointMessage>;

/** A stored request as a message. A body that was not read is empty. */
export function apiRequestMessage(
  row: Omit<Stored, Bodies> & Partial<Pick<Stored, Bodies>>,
): ApiRequestMessage {
  return create(ApiRequestSchema, {
    apiRequestId: publicId('req', row.id),
    merchantId: publicId('mer', row.merchantId),
    environment: environmentNumbers[row.environment],
    apiKeyId: publicId('key', row.apiKeyId),
    requestId: row.requestId,
    endpoint: apiEndpoints[row.endpoint],
    method: row.method,
    path: row.path,
    status: row.status,
    reason: row.reason,
    durationMicros: row.durationMicros,
    orderNumber: row.orderNumber,
    requestBody: row.requestBody ?? '',
    responseBody: row.responseBody ?? '',
    createTime: timestampFromDate(timeOf(row.id)),
  });
}

/** When a request arrived. Its stored id begins with the Unix time in milliseconds (RFC 9562, version 7). */
const timeOf = (id: StoredId<'req'>): Date => new Date(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16));
