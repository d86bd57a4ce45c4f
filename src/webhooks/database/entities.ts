import { defineEntity, p } from '@mikro-orm/core';
import type { InferEntity } from '@mikro-orm/core';
import type { AttemptResult, DeliveryState, Environment } from '../domain/delivery.ts';

/*
 * Rows as they are stored. Only the stores use them. All other code uses the domain's types.
 * The migrations define the schema, with checks and partial indexes that an entity cannot express.
 */

const schema = 'webhooks';
const time = () => p.datetime(3);
const environment = () => p.string().columnType('webhooks.environment').$type<Environment>();
const deliveryState = () => p.string().columnType('webhooks.delivery_state').$type<DeliveryState>();
const attemptResult = () => p.string().columnType('webhooks.attempt_result').$type<AttemptResult>();

export const EventReaderRow = defineEntity({
  name: 'EventReaderRow',
  tableName: 'event_readers',
  schema,
  properties: {
    reader: p.text().primary(),
    cursor: p.text(),
    readAt: time(),
  },
});
export type EventReaderRow = InferEntity<typeof EventReaderRow>;

export const LaneRow = defineEntity({
  name: 'LaneRow',
  tableName: 'lanes',
  schema,
  properties: {
    merchantId: p.text().primary(),
    environment: environment().primary(),
    endpoint: p.text().primary(),
    nextDueAt: time().nullable(),
    leaseId: p.uuid().nullable(),
    leasedUntil: time().nullable(),
    consecutiveFailures: p.integer().default(0),
    restingUntil: time().nullable(),
    pausedAt: time().nullable(),
    pauseReason: p.text().default(''),
    resumedAt: time().nullable(),
    lastSuccessAt: time().nullable(),
    lastFailureAt: time().nullable(),
    lastResult: p.text().default(''),
    createdAt: time(),
    failingSince: time().nullable(),
    lastAttemptResult: attemptResult().nullable(),
    pausedByAnswer: p.boolean().default(false),
    awaitsSecretSince: time().nullable(),
  },
});
export type LaneRow = InferEntity<typeof LaneRow>;

export const DeliveryRow = defineEntity({
  name: 'DeliveryRow',
  tableName: 'deliveries',
  schema,
  properties: {
    merchantId: p.text().primary(),
    id: p.text().primary(),
    environment: environment(),
    endpoint: p.text(),
    eventId: p.text(),
    eventType: p.text(),
    orderId: p.text(),
    orderNumber: p.text(),
    sequence: p.bigint(),
    url: p.text(),
    body: p.blob().lazy(),
    state: deliveryState(),
    dueAt: time().nullable(),
    attemptCount: p.integer().default(0),
    roundAttempts: p.integer().default(0),
    roundStartedAt: time(),
    createdAt: time(),
    lastAttemptAt: time().nullable(),
    lastResult: p.text().default(''),
    deliveredAt: time().nullable(),
    givenUpAt: time().nullable(),
    redeliveryId: p.text().nullable(),
  },
});
export type DeliveryRow = InferEntity<typeof DeliveryRow>;

export const DeliveryAttemptRow = defineEntity({
  name: 'DeliveryAttemptRow',
  tableName: 'delivery_attempts',
  schema,
  properties: {
    merchantId: p.text().primary(),
    deliveryId: p.text().primary(),
    number: p.integer().primary(),
    startedAt: time(),
    durationMs: p.integer(),
    result: attemptResult(),
    statusCode: p.smallint(),
    detail: p.text(),
    remoteAddress: p.text(),
    responseBody: p.blob(),
    retryAfter: p.text(),
  },
});
export type DeliveryAttemptRow = InferEntity<typeof DeliveryAttemptRow>;

export const SigningSecretRow = defineEntity({
  name: 'SigningSecretRow',
  tableName: 'signing_secrets',
  schema,
  properties: {
    merchantId: p.text().primary(),
    environment: environment().primary(),
    id: p.text().primary(),
    endpointId: p.text().default(''),
    isCurrent: p.boolean(),
    keyId: p.text(),
    sealed: p.blob(),
    ending: p.text(),
    shown: p.boolean(),
    createdAt: time(),
    promoteAt: time().nullable(),
  },
});
export type SigningSecretRow = InferEntity<typeof SigningSecretRow>;

export const WebhookEndpointRow = defineEntity({
  name: 'WebhookEndpointRow',
  tableName: 'webhook_endpoints',
  schema,
  properties: {
    merchantId: p.text().primary(),
    id: p.text().primary(),
    environment: environment(),
    url: p.text(),
    description: p.text(),
    createdAt: time(),
    updatedAt: time(),
    deletedAt: time().nullable(),
    emptiedAt: time().nullable(),
  },
});
export type WebhookEndpointRow = InferEntity<typeof WebhookEndpointRow>;

export const WebhookEndpointTypeRow = defineEntity({
  name: 'WebhookEndpointTypeRow',
  tableName: 'webhook_endpoint_types',
  schema,
  properties: {
    merchantId: p.text().primary(),
    endpointId: p.text().primary(),
    eventType: p.text().primary(),
    since: time(),
  },
});
export type WebhookEndpointTypeRow = InferEntity<typeof WebhookEndpointTypeRow>;

export const RedeliveryRow = defineEntity({
  name: 'RedeliveryRow',
  tableName: 'redeliveries',
  schema,
  properties: {
    merchantId: p.text().primary(),
    id: p.text().primary(),
    environment: environment(),
    createdFrom: time(),
    createdTo: time(),
    states: p.array<DeliveryState>().columnType('webhooks.delivery_state[]'),
    afterId: p.text(),
    redeliveredCount: p.bigint().default(0),
    workedAt: time().nullable(),
    createdAt: time(),
    endedAt: time().nullable(),
  },
});
export type RedeliveryRow = InferEntity<typeof RedeliveryRow>;

export const AuditOutboxRow = defineEntity({
  name: 'AuditOutboxRow',
  tableName: 'audit_outbox',
  schema,
  properties: {
    id: p.text().primary(),
    createdAt: time(),
    actor: p.text(),
    action: p.text(),
    merchantId: p.text(),
    targetId: p.text(),
    requestId: p.text(),
    details: p.json<Record<string, string | number | boolean | null>>(),
  },
});
export type AuditOutboxRow = InferEntity<typeof AuditOutboxRow>;

export const FindingRow = defineEntity({
  name: 'FindingRow',
  tableName: 'findings',
  schema,
  properties: {
    id: p.text().primary(),
    foundAt: time(),
    merchantId: p.text(),
    orderId: p.text(),
    isRepaired: p.boolean(),
    detail: p.text(),
    code: p.text().default(''),
    eventId: p.text().default(''),
    facts: p.json<Record<string, unknown>>().defaultRaw(`'{}'`),
  },
});
export type FindingRow = InferEntity<typeof FindingRow>;

export const entities = [
  EventReaderRow,
  LaneRow,
  DeliveryRow,
  DeliveryAttemptRow,
  SigningSecretRow,
  WebhookEndpointRow,
  WebhookEndpointTypeRow,
  RedeliveryRow,
  AuditOutboxRow,
  FindingRow,
];
