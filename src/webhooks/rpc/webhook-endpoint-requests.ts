import type {
  CreateWebhookEndpointRequest,
  GetWebhookEndpointRequest,
  ListWebhookEndpointsRequest,
  PauseWebhookEndpointRequest,
  RotateWebhookEndpointSecretRequest,
  UpdateWebhookEndpointRequest,
} from '../../gen/gatehouse/v1/webhook_endpoint_service_pb.js';
import type { Environment } from '../domain/delivery.ts';
import { webhookUrlIssue } from '../domain/webhook-url.ts';
import type { EndpointKey } from '../endpoints/webhook-endpoint-rows.sql.ts';
import type { EndpointChange, NewWebhookEndpoint } from '../endpoints/webhook-endpoints.ts';
import { invalidFields } from '../../platform/rpc/rpc-error.ts';
import { readFields } from './request-fields.ts';
import type { FieldReader } from './request-fields.ts';
import { maxReason, promotion } from './webhook-requests.ts';

/*
 * Each function reads one request into this process's own types.
 * All throw INVALID_ARGUMENT INVALID_FIELDS with every invalid field.
 */

const maxDescription = 200;

type KeyFields = Pick<GetWebhookEndpointRequest, 'merchantId' | 'webhookEndpointId'>;

const readKey = (fields: FieldReader, { merchantId, webhookEndpointId }: KeyFields): EndpointKey => ({
  merchantId: fields.id('mer', merchantId, 'merchant_id'),
  endpointId: fields.id('whe', webhookEndpointId, 'webhook_endpoint_id'),
});

export const endpointKey = (request: KeyFields): EndpointKey =>
  readFields((fields) => readKey(fields, request));

export const endpointToCreate = (request: CreateWebhookEndpointRequest): NewWebhookEndpoint =>
  readFields((fields) => ({
    merchantId: fields.id('mer', request.merchantId, 'merchant_id'),
    environment: fields.environment(request.environment),
    url: fields.url(request.url, request.environment),
    description: fields.text(request.description, 'description', maxDescription),
    eventTypes: fields.eventTypes(request.eventTypes),
    withoutSecret: request.withoutSecret,
  }));

export const endpointsToList = (request: ListWebhookEndpointsRequest) =>
  readFields((fields) => ({
    merchantId: fields.id('mer', request.merchantId, 'merchant_id'),
    environment: fields.optionalEnvironment(request.environment),
  }));

export const endpointToPause = (request: PauseWebhookEndpointRequest) =>
  readFields((fields) => ({
    key: readKey(fields, request),
    reason: fields.text(request.reason, 'reason', maxReason),
  }));

export const secretToRotate = (request: RotateWebhookEndpointSecretRequest) =>
  readFields((fields) => ({
    key: readKey(fields, request),
    promoteAfterMs: fields.duration(
      request.promoteAfter,
      'promote_after',
      promotion.standardMs,
      promotion.maxMs,
    ),
  }));

/** The URL is checked by `checkUrl`, because its rules depend on the environment of the endpoint. */
export const endpointToUpdate = (request: UpdateWebhookEndpointRequest) =>
  readFields((fields): { readonly key: EndpointKey; readonly change: EndpointChange } => ({
    key: readKey(fields, request),
    change: {
      url: request.url,
      description:
        request.description === undefined
          ? undefined
          : fields.text(request.description, 'description', maxDescription),
      eventTypes: request.types === undefined ? undefined : fields.eventTypes(request.types.eventTypes),
    },
  }));

/** @throws INVALID_ARGUMENT INVALID_FIELDS */
export function checkUrl(url: string | undefined, environment: Environment): void {
  const issue = url === undefined ? undefined : webhookUrlIssue(url, environment);
  if (issue !== undefined) throw invalidFields([{ field: 'url', issue }]);
}
