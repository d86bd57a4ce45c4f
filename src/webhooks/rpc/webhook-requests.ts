import type {
  GetDeliveryRequest,
  ExplainOrderDeliveriesRequest,
  GetOrderDeliveriesRequest,
  GetRedeliveryRequest,
  ListDeliveriesRequest,
  ListEndpointsRequest,
  ListSigningSecretsRequest,
  ListenToSandboxEventsRequest,
  PauseEndpointRequest,
  PromoteSigningSecretRequest,
  ResumeEndpointRequest,
  RotateSigningSecretRequest,
  SendTestEventRequest,
  StartRedeliveryRequest,
} from '../../gen/gatehouse/v1/webhook_service_pb.js';
import { isPublicId } from '../../contract/public-id.ts';
import type { LaneKey, SecretOwner } from '../domain/delivery.ts';
import type { RedeliveryRequest } from '../redeliveries/redelivery-store.ts';
import type { DeliveryFilter, OrderKey } from './delivery-reader.ts';
import { isPosition } from './endpoint-reader.ts';
import type { EndpointFilter } from './endpoint-reader.ts';
import { readFields } from './request-fields.ts';
import type { TestEvent } from './send-test-event.ts';

/*
 * Each function reads one request into this process's own types.
 * All throw INVALID_ARGUMENT INVALID_FIELDS with every invalid field.
 */

const dayMs = 24 * 60 * 60 * 1000;
/** The time until a new secret becomes current. */
export const promotion = { standardMs: dayMs, maxMs: 30 * dayMs } as const;
export const maxReason = 200;
/** The longest order number that core accepts. */
const maxOrderNumber = 64;

export interface DeliveryKey {
  readonly merchantId: string;
  readonly deliveryId: string;
}

export const secretsToList = (request: ListSigningSecretsRequest) =>
  readFields((fields) => ({
    merchantId: fields.id('mer', request.merchantId, 'merchant_id'),
    environment: fields.optionalEnvironment(request.environment),
  }));

export const secretOwner = (request: PromoteSigningSecretRequest): SecretOwner =>
  readFields((fields) => ({
    merchantId: fields.id('mer', request.merchantId, 'merchant_id'),
    environment: fields.environment(request.environment),
    endpointId: '',
  }));

export const secretToRotate = (request: RotateSigningSecretRequest) =>
  readFields((fields) => ({
    owner: {
      merchantId: fields.id('mer', request.merchantId, 'merchant_id'),
      environment: fields.environment(request.environment),
      endpointId: '',
    },
    promoteAfterMs: fields.duration(
      request.promoteAfter,
      'promote_after',
      promotion.standardMs,
      promotion.maxMs,
    ),
  }));

export const orderKey = (request: GetOrderDeliveriesRequest | ExplainOrderDeliveriesRequest): OrderKey =>
  readFields((fields) => ({
    merchantId: fields.id('mer', request.merchantId, 'merchant_id'),
    environment: fields.environment(request.environment),
    orderId: fields.id('ord', request.orderId, 'order_id'),
  }));

/** `key`: the filters. A page token is valid only with the same ones. */
export function deliveriesToList(request: ListDeliveriesRequest): {
  readonly filter: DeliveryFilter;
  readonly key: unknown;
} {
  const { merchantId, environment, states, orderNumber, orderId, endpoint, webhookEndpointId } = request;
  const from = request.createTimeFrom;
  const to = request.createTimeTo;
  const key = [
    [merchantId, environment, states, orderNumber, orderId, endpoint, webhookEndpointId],
    [from, to].map((time) => (time === undefined ? null : [String(time.seconds), time.nanos])),
  ];
  const filter = readFields((fields): DeliveryFilter => {
    const createdFrom = fields.optionalTime(from, 'create_time_from');
    const createdTo = fields.optionalTime(to, 'create_time_to');
    fields.order(createdFrom, createdTo, 'create_time_to');
    return {
      merchantId: fields.id('mer', merchantId, 'merchant_id'),
      environment: fields.optionalEnvironment(environment),
      states: fields.states(states),
      orderNumber: orderNumber === '' ? undefined : fields.text(orderNumber, 'order_number', maxOrderNumber),
      orderId: fields.optionalId('ord', orderId, 'order_id'),
      endpoint: fields.optionalEndpoint(endpoint),
      webhookEndpointId: fields.optionalId('whe', webhookEndpointId, 'webhook_endpoint_id'),
      createdFrom,
      createdTo,
      beforeId: fields.pageToken(request.pageToken, key, (text) => isPublicId('whd', text)),
      limit: fields.pageSize(request.pageSize),
    };
  });
  return { filter, key };
}

export const deliveryKey = (request: Pick<GetDeliveryRequest, 'merchantId' | 'deliveryId'>): DeliveryKey =>
  readFields((fields) => ({
    merchantId: fields.id('mer', request.merchantId, 'merchant_id'),
    deliveryId: fields.id('whd', request.deliveryId, 'delivery_id'),
  }));

export const redeliveryToStart = (request: StartRedeliveryRequest): RedeliveryRequest =>
  readFields((fields) => {
    const createdFrom = fields.time(request.createTimeFrom, 'create_time_from');
    const createdTo = fields.optionalTime(request.createTimeTo, 'create_time_to');
    fields.order(createdFrom, createdTo, 'create_time_to');
    const states = fields.states(request.states);
    return {
      merchantId: fields.id('mer', request.merchantId, 'merchant_id'),
      environment: fields.environment(request.environment),
      createdFrom,
      createdTo,
      states: states.length === 0 ? ['GIVEN_UP'] : states,
    };
  });

export const redeliveryKey = (request: GetRedeliveryRequest) =>
  readFields((fields) => ({
    merchantId: fields.id('mer', request.merchantId, 'merchant_id'),
    redeliveryId: fields.id('whr', request.redeliveryId, 'redelivery_id'),
  }));

export const testToSend = (request: SendTestEventRequest): TestEvent =>
  readFields((fields) => ({
    merchantId: fields.id('mer', request.merchantId, 'merchant_id'),
    environment: fields.environment(request.environment),
    url: fields.url(request.url, request.environment),
    endpointId: '',
  }));

/** `key`: the filters. A page token is valid only with the same ones. */
export function endpointsToList(request: ListEndpointsRequest): {
  readonly filter: EndpointFilter;
  readonly key: unknown;
} {
  const { merchantId, environment, onlyInTrouble: onlyInactive, endpoint } = request;
  const { includeWebhookEndpoints: withWebhookEndpoints } = request;
  // A process of the previous version made tokens without the endpoint.
  const ofEndpoint = endpoint === '' ? [] : [endpoint];
  const key = [merchantId, environment, onlyInactive, withWebhookEndpoints, ...ofEndpoint];
  const filter = readFields((fields) => ({
    merchantId: fields.optionalId('mer', merchantId, 'merchant_id'),
    environment: fields.optionalEnvironment(environment),
    endpoint: fields.optionalEndpoint(endpoint),
    onlyInactive,
    withWebhookEndpoints,
    after: fields.pageToken(request.pageToken, key, isPosition),
    limit: fields.pageSize(request.pageSize),
  }));
  return { filter, key };
}

export const endpointKey = (request: ResumeEndpointRequest): LaneKey =>
  readFields((fields) => ({
    merchantId: fields.id('mer', request.merchantId, 'merchant_id'),
    environment: fields.environment(request.environment),
    endpoint: fields.endpoint(request.endpoint),
  }));

export const endpointToPause = (request: PauseEndpointRequest) =>
  readFields((fields) => ({
    lane: {
      merchantId: fields.id('mer', request.merchantId, 'merchant_id'),
      environment: fields.environment(request.environment),
      endpoint: fields.endpoint(request.endpoint),
    },
    reason: fields.text(request.reason, 'reason', maxReason),
  }));

export const parseListener = (request: ListenToSandboxEventsRequest) =>
  readFields((fields) => ({ merchantId: fields.id('mer', request.merchantId, 'merchant_id') }));
