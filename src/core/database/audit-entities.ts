import { defineEntity, p } from '@mikro-orm/core';
import type { InferEntity } from '@mikro-orm/core';
import { idOf, schema, time } from './columns.ts';

export const AuditEntryRow = defineEntity({
  name: 'AuditEntryRow',
  tableName: 'audit_entries',
  schema,
  properties: {
    id: idOf<'aud'>().primary(),
    createdAt: time(),
    actor: p.text(),
    action: p.text(),
    merchantId: idOf<'mer'>().nullable(),
    targetId: p.text(),
    requestId: p.text(),
    details: p.json<Record<string, string | number | boolean | null>>(),
  },
});
export type AuditEntryRow = InferEntity<typeof AuditEntryRow>;
