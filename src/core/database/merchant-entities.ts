import { defineEntity, p } from '@mikro-orm/core';
import type { InferEntity } from '@mikro-orm/core';
import type { PaymentOption } from '../domain/order.ts';
import type { CertificationPart, CertifiedCheck } from '../../contract/certification-checks.ts';
import type { ApiKeyScope } from '../domain/api-key-life-cycle.ts';
import type { RefundLimits, RefundPolicy } from '../domain/refund-limits.ts';
import type { MerchantStatus } from '../domain/merchant-life-cycle.ts';
import { environment, idOf, schema, time } from './columns.ts';

export const MerchantRow = defineEntity({
  name: 'MerchantRow',
  tableName: 'merchants',
  schema,
  properties: {
    id: idOf<'mer'>().primary(),
    name: p.text(),
    status: p.string().columnType('core.merchant_status').$type<MerchantStatus>(),
    productionActivated: p.boolean(),
    sessionLifetimeSeconds: p.integer(),
    sandboxPaymentOptions: p.array().columnType('text[]').$type<PaymentOption[]>().default([]),
    productionPaymentOptions: p.array().columnType('text[]').$type<PaymentOption[]>().default([]),
    /** Ids of the wallets that the merchant has switched off. */
    sandboxWalletsOff: p.array().columnType('text[]').$type<string[]>().default([]),
    productionWalletsOff: p.array().columnType('text[]').$type<string[]>().default([]),
    currencies: p.array().columnType('text[]').$type<string[]>().default([]),
    /** Decimal text by currency. */
    largestAmounts: p.json<Record<string, string>>(),
    requestsPerSecond: p.integer().default(0),
    contactPhone: p.text().default(''),
    contactEmail: p.text().default(''),
    /** Decimal text by currency. */
    refundApprovalLimits: p.json<RefundLimits>(),
    refundRoleLimits: p.json<RefundPolicy['refundRoleLimits']>(),
    /** 0 for the period of the deployment. */
    personalDataDays: p.integer().default(0),
    /** Changes when ended orders may differ from what was read before: after an erasure, or in a restored database. */
    endedOrdersVersion: p.uuid().default('00000000-0000-0000-0000-000000000000'),
    createdAt: time(),
    updatedAt: time(),
  },
});
export type MerchantRow = InferEntity<typeof MerchantRow>;

/** The latest results of a part of a merchant's certification. */
export const CertificationRow = defineEntity({
  name: 'CertificationRow',
  tableName: 'certifications',
  schema,
  properties: {
    merchantId: idOf<'mer'>().primary(),
    part: p.text().$type<CertificationPart>().primary(),
    certified: p.boolean(),
    webhookUrl: p.text(),
    apiVersion: p.text(),
    checks: p.json<readonly CertifiedCheck[]>(),
    recordedAt: time(),
  },
});
export type CertificationRow = InferEntity<typeof CertificationRow>;

export const ApiKeyRow = defineEntity({
  name: 'ApiKeyRow',
  tableName: 'api_keys',
  schema,
  properties: {
    merchantId: idOf<'mer'>().primary(),
    id: idOf<'key'>().primary(),
    environment: environment(),
    prefix: p.text(),
    keyHash: p.blob(),
    label: p.text(),
    scopes: p.array().columnType('text[]').$type<ApiKeyScope[]>().default([]),
    createdAt: time(),
    lastUsedAt: time().nullable(),
    expiresAt: time().nullable(),
    revokedAt: time().nullable(),
  },
});
export type ApiKeyRow = InferEntity<typeof ApiKeyRow>;
