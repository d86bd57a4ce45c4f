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

const LaneRow = defineEntity({
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

const DeliveryRow = defineEntity({
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

const WebhookEndpointRow = defineEntity({
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

export const entities = [LaneRow, DeliveryRow, WebhookEndpointRow, AuditOutboxRow];
