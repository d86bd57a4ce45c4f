import { create } from '@bufbuild/protobuf';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { durationFromMs, timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { Timestamp } from '@bufbuild/protobuf/wkt';
import { Environment as EnvironmentMessage } from '../../gen/gatehouse/v1/order_pb.js';
import {
  DeliveryAttemptResult,
  DeliveryAttemptSchema,
  DeliverySchema,
  DeliveryState as DeliveryStateMessage,
  EndpointSchema,
  EndpointState as EndpointStateMessage,
  RedeliverySchema,
  SigningSecretSchema,
  SigningSecretState,
} from '../../gen/gatehouse/v1/webhook_service_pb.js';
import type {
  Delivery,
  DeliveryAttempt,
  Endpoint,
  GetPipelineStatusResponseSchema,
  Redelivery as RedeliveryMessage,
  SigningSecret as SigningSecretMessage,
} from '../../gen/gatehouse/v1/webhook_service_pb.js';
import { endpointIdOf, endpointOf } from '../domain/delivery.ts';
import type { AttemptResult, DeliveryState, Environment } from '../domain/delivery.ts';
import { findingMessage } from '../health/findings.sql.ts';
import type { PipelineStatus } from '../health/pipeline-status.ts';
import type { Redelivery } from '../redeliveries/redelivery-store.ts';
import type { SigningSecret } from '../secrets/describe-secret.ts';
import type { StoredAttempt, StoredDelivery } from './delivery-reader.ts';
import type { EndpointState, StoredEndpoint } from './endpoint-reader.ts';

export const environments = {
  SANDBOX: EnvironmentMessage.SANDBOX,
  PRODUCTION: EnvironmentMessage.PRODUCTION,
} as const satisfies Record<Environment, EnvironmentMessage>;

export const deliveryStates = {
  PENDING: DeliveryStateMessage.PENDING,
  DELIVERED: DeliveryStateMessage.DELIVERED,
  GIVEN_UP: DeliveryStateMessage.GIVEN_UP,
} as const satisfies Record<DeliveryState, DeliveryStateMessage>;

const endpointStates = {
  OPEN: EndpointStateMessage.OPEN,
  RESTING: EndpointStateMessage.RESTING,
  PAUSED: EndpointStateMessage.PAUSED,
} as const satisfies Record<EndpointState, EndpointStateMessage>;

const secretStates = { CURRENT: SigningSecretState.CURRENT, NEXT: SigningSecretState.NEXT } as const;

const results = {
  DELIVERED: DeliveryAttemptResult.DELIVERED,
  REFUSED: DeliveryAttemptResult.REFUSED,
  GONE: DeliveryAttemptResult.GONE,
  TIMED_OUT: DeliveryAttemptResult.TIMED_OUT,
  CONNECTION_FAILED: DeliveryAttemptResult.CONNECTION_FAILED,
  UNREADABLE: DeliveryAttemptResult.UNREADABLE,
  TLS_FAILED: DeliveryAttemptResult.TLS_FAILED,
  NAME_NOT_RESOLVED: DeliveryAttemptResult.NAME_NOT_RESOLVED,
  ADDRESS_NOT_ALLOWED: DeliveryAttemptResult.ADDRESS_NOT_ALLOWED,
} as const satisfies Record<AttemptResult, DeliveryAttemptResult>;

/** A timestamp field, omitted when there is no time. */
export const timeField = <Name extends string>(name: Name, time: Date | null | undefined) =>
  (time == null ? {} : { [name]: timestampFromDate(time) }) as { [K in Name]?: Timestamp };

const lastAttemptField = ({ lastAttemptResult: result }: { lastAttemptResult: AttemptResult | null }) =>
  result === null ? {} : { lastAttemptResult: results[result] };

export const deliveryMessage = (delivery: StoredDelivery): Delivery =>
  create(DeliverySchema, {
    deliveryId: delivery.id,
    merchantId: delivery.merchantId,
    environment: environments[delivery.environment],
    eventId: delivery.eventId,
    eventType: delivery.eventType,
    orderId: delivery.orderId,
    orderNumber: delivery.orderNumber,
    sequence: delivery.sequence,
    url: delivery.url,
    endpoint: endpointOf(delivery.url),
    webhookEndpointId: endpointIdOf(delivery),
    state: deliveryStates[delivery.state],
    endpointState: endpointStates[delivery.endpointState],
    awaitsSecret: delivery.state === 'PENDING' && delivery.awaitsSecret === true,
    attemptCount: delivery.attemptCount,
    lastResult: delivery.lastResult,
    lastStatusCode: delivery.lastStatusCode ?? 0,
    ...lastAttemptField(delivery),
    createTime: timestampFromDate(delivery.createdAt),
    ...timeField('dueTime', delivery.dueAt),
    ...timeField('lastAttemptTime', delivery.lastAttemptAt),
    ...timeField('deliverTime', delivery.deliveredAt),
  });

export const attemptMessage = (attempt: StoredAttempt): DeliveryAttempt =>
  create(DeliveryAttemptSchema, {
    number: attempt.number,
    startTime: timestampFromDate(attempt.startedAt),
    duration: {
      seconds: BigInt(Math.floor(attempt.durationMs / 1000)),
      nanos: (attempt.durationMs % 1000) * 1_000_000,
    },
    result: results[attempt.result],
    statusCode: attempt.statusCode,
    detail: attempt.detail,
    remoteAddress: attempt.remoteAddress,
    // An answer may not be text, or may be cut within a character. Invalid bytes are shown as U+FFFD.
    responseBody: attempt.responseBody.toString('utf8'),
    retryAfter: attempt.retryAfter,
  });

export const endpointMessage = (endpoint: StoredEndpoint): Endpoint =>
  create(EndpointSchema, {
    merchantId: endpoint.merchantId,
    environment: environments[endpoint.environment],
    endpoint: endpoint.url === null ? endpoint.endpoint : endpointOf(endpoint.url),
    webhookEndpointId: endpointIdOf(endpoint),
    state: endpointStates[endpoint.state],
    consecutiveFailures: endpoint.consecutiveFailures,
    pauseReason: endpoint.pauseReason,
    lastResult: endpoint.lastResult,
    lastStatusCode: endpoint.lastStatusCode,
    pendingCount: endpoint.pendingCount,
    ...lastAttemptField(endpoint),
    pausedByAnswer: endpoint.pausedByAnswer,
    ...timeField('troubleTime', endpoint.pausedAt ?? endpoint.failingSince),
    ...timeField('probeTime', endpoint.state === 'RESTING' ? endpoint.probeAt : null),
    ...timeField('lastSuccessTime', endpoint.lastSuccessAt),
    ...timeField('lastFailureTime', endpoint.lastFailureAt),
  });

export const secretMessage = (secret: SigningSecret): SigningSecretMessage =>
  create(SigningSecretSchema, {
    signingSecretId: secret.id,
    merchantId: secret.merchantId,
    environment: environments[secret.environment],
    state: secretStates[secret.state],
    ending: secret.ending,
    shown: secret.shown,
    webhookEndpointId: secret.endpointId,
    createTime: timestampFromDate(secret.createdAt),
    ...timeField('promoteTime', secret.promoteAt),
  });

export const redeliveryMessage = (redelivery: Redelivery): RedeliveryMessage =>
  create(RedeliverySchema, {
    redeliveryId: redelivery.id,
    merchantId: redelivery.merchantId,
    environment: environments[redelivery.environment],
    createTimeFrom: timestampFromDate(redelivery.createdFrom),
    createTimeTo: timestampFromDate(redelivery.createdTo),
    states: redelivery.states.map((state) => deliveryStates[state]),
    createTime: timestampFromDate(redelivery.createdAt),
    redeliveredCount: redelivery.redeliveredCount,
    pendingCount: redelivery.pendingCount,
    deliveredCount: redelivery.deliveredCount,
    givenUpCount: redelivery.givenUpCount,
    ...timeField('endTime', redelivery.endedAt),
  });

export const statusMessage = (
  status: PipelineStatus,
): MessageInitShape<typeof GetPipelineStatusResponseSchema> => ({
  isTakingIn: status.isIngesting,
  ...(status.eventLag === undefined ? {} : { eventLag: BigInt(status.eventLag) }),
  isBrokerConnected: status.isBrokerConnected,
  dueCount: BigInt(status.dueCount),
  pendingCount: BigInt(status.pendingCount),
  restingEndpoints: BigInt(status.restingEndpoints),
  pausedEndpoints: BigInt(status.pausedEndpoints),
  givenUpCount: BigInt(status.givenUpCount),
  givenUpTestCount: BigInt(status.givenUpTestCount),
  ...(status.triedMs === undefined
    ? {}
    : {
        shortestTried: durationFromMs(status.triedMs.shortest),
        longestTried: durationFromMs(status.triedMs.longest),
      }),
  secretsWithOldKey: BigInt(status.secretsWithOldKey),
  awaitedSecretCount: BigInt(status.awaitedSecretCount),
  repairedCount: BigInt(status.repairedCount),
  gaps: status.gaps.map(({ detail }) => detail),
  findings: status.gaps.map(findingMessage),
  ...timeField('intakeTime', status.intakeAt),
  ...timeField('oldestDueTime', status.oldestDueAt),
  ...timeField('reconcileTime', status.reconciledAt),
  ...timeField('unreconciledSinceTime', status.unreconciledSince),
});
