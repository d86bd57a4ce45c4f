import { timestampMs } from '@bufbuild/protobuf/wkt';
import type { AwaitedSecret, WebhookEndpoint } from '../../gen/gatehouse/v1/webhook_endpoint_service_pb.js';
import { EndpointState, SigningSecretState } from '../../gen/gatehouse/v1/webhook_service_pb.js';
import type { SigningSecret } from '../../gen/gatehouse/v1/webhook_service_pb.js';
import type { webhookEndpoints } from '../language/english/webhook-endpoints.ts';
import { momentOf } from '../moment-text.ts';
import { endpointRow } from './webhook-views.ts';
import type { Writing } from './webhook-views.ts';
import { numberFormat } from '../../platform/language/formats.ts';

/** The types of event that an endpoint can receive, in the order of the form. */
export const eventTypes = [
  'order.completed',
  'order.failed',
  'order.expired',
  'payment_link.created',
  'payment_link.completed',
  'payment_link.failed',
  'payment_link.expired',
  'refund.completed',
  'refund.failed',
] as const;

export interface EndpointWriting extends Writing {
  readonly endpointWords: typeof webhookEndpoints;
}

export const isNext = ({ state }: SigningSecret): boolean => state === SigningSecretState.NEXT;

/**
 * The settings, the pause and the secrets of an endpoint as the page showed them. A form sends this text back, so that the dashboard
 * detects a change that was made meanwhile.
 */
export const seenOf = ({ updateTime, status, signingSecrets }: WebhookEndpoint): string =>
  [
    updateTime === undefined ? '' : timestampMs(updateTime),
    status?.state === EndpointState.PAUSED,
    ...signingSecrets.map((secret) => `${secret.signingSecretId}${isNext(secret) ? '-next' : ''}`),
  ].join(' ');

const typesText = ({ eventTypes: types }: WebhookEndpoint, words: typeof webhookEndpoints): string =>
  types.length === 0 ? words.everyType : types.join(', ');

/** A row of the list, and the facts at the top of an endpoint's page. */
export function webhookEndpointRow(endpoint: WebhookEndpoint, writing: EndpointWriting) {
  const { endpointWords: words } = writing;
  const status = endpoint.status === undefined ? undefined : endpointRow(endpoint.status, writing);
  return {
    id: endpoint.webhookEndpointId,
    url: endpoint.url,
    description: endpoint.description,
    types: typesText(endpoint, words),
    awaitsSecret: endpoint.awaitsSecret,
    status,
    created: momentOf(endpoint.createTime, writing.language, writing.timeZone),
  };
}

export function secretRow(secret: SigningSecret, { words, language, timeZone }: Writing) {
  return {
    ending: secret.ending,
    state: words.secrets.states[isNext(secret) ? 'next' : 'current'],
    tone: isNext(secret) ? 'info' : 'good',
    created: momentOf(secret.createTime, language, timeZone),
    promoted: momentOf(secret.promoteTime, language, timeZone),
  };
}

/** The deliveries that wait for a signing secret, with the page that creates it. `path`: that of the webhooks pages. */
export function awaitedRow(
  { webhookEndpointId, pendingCount }: AwaitedSecret,
  words: typeof webhookEndpoints,
  { path, language }: { readonly path: string; readonly language: string },
) {
  const count = numberFormat(language).format(pendingCount);
  return webhookEndpointId === ''
    ? { text: words.awaited.orders(count), href: `${path}/secrets` }
    : { text: words.awaited.endpoint(count), href: `${path}/endpoints/${webhookEndpointId}` };
}
