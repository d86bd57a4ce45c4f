import type { Client } from '@connectrpc/connect';
import type {
  AuditFinding,
  AuditService,
  AuditSummary,
} from '../../../src/gen/gatehouse/v1/audit_service_pb.js';
import { waitUntil } from '../../support/wait-until.ts';

export interface Verified {
  readonly findings: AuditFinding[];
  readonly summary: AuditSummary;
}

type Audit = Client<typeof AuditService>;

export async function verifyEvents(
  audit: Audit,
  request: Parameters<Audit['verifyEvents']>[0] = {},
): Promise<Verified> {
  const findings: AuditFinding[] = [];
  for await (const { message } of audit.verifyEvents(request)) {
    if (message.case === 'finding') findings.push(message.value);
    if (message.case === 'summary') return { findings, summary: message.value };
  }
  throw new Error('the stream ended without a summary');
}

export const untilSealed = (audit: Audit, request: { readonly merchantId?: string } = {}) =>
  waitUntil(
    'all events are sealed',
    async () => (await verifyEvents(audit, request)).summary.waitingEventCount === 0n,
  );
