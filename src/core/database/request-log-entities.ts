import { defineEntity, p } from '@mikro-orm/core';
import type { InferEntity } from '@mikro-orm/core';
import { environment, idOf, schema } from './columns.ts';

export type ApiEndpoint = 'REGISTER' | 'DIRECT' | 'VERIFY' | 'REFUND' | 'VERIFY_REFUND' | 'EXPLAIN';

export const ApiRequestRow = defineEntity({
  name: 'ApiRequestRow',
  tableName: 'api_requests',
  schema,
  properties: {
    merchantId: idOf<'mer'>().primary(),
    environment: environment().primary(),
    id: idOf<'req'>().primary(),
    apiKeyId: idOf<'key'>(),
    requestId: p.text(),
    endpoint: p.string().columnType('core.api_endpoint').$type<ApiEndpoint>(),
    method: p.text(),
    path: p.text(),
    status: p.smallint(),
    reason: p.text(),
    durationMicros: p.bigint(),
    orderNumber: p.text(),
    requestBody: p.text(),
    responseBody: p.text(),
  },
});
export type ApiRequestRow = InferEntity<typeof ApiRequestRow>;
