import { create } from '@bufbuild/protobuf';
import { createContextValues, createHandlerContext } from '@connectrpc/connect';
import { expect, test } from '@jest/globals';
import { ok } from '../../../src/core/domain/result.ts';
import { recoveryService } from '../../../src/core/recovery/recovery-service.ts';
import type { StoredRecovery } from '../../../src/core/recovery/recovery-store.ts';
import {
  AcceptRecoveryRequestSchema,
  RecoveryService,
} from '../../../src/gen/gatehouse/v1/recovery_service_pb.js';
import { callerKey } from '../../../src/platform/rpc/call-context.ts';

const request = create(AcceptRecoveryRequestSchema, {
  subject: { case: 'conflicts', value: true },
  reason: 'settled by hand',
});

/** A service whose decisions are stored, and followed by this step. */
function accept(step: () => Promise<void>): Promise<unknown> {
  const { spec } = recoveryService({
    store: {
      latest: async () => undefined,
      begin: () => Promise.reject(new Error('not called')),
      accept: async () => ok({} as StoredRecovery),
      listOrders: async () => [],
    },
    now: () => new Date(),
    onBegin: async () => undefined,
    onDecision: step,
    decisionWaitMs: 50,
  });
  const { impl } = spec.methods['acceptRecovery'] as { impl: (...call: unknown[]) => Promise<unknown> };
  const caller = { role: 'operator', actor: 'someone', requestId: 'accept-1' };
  const context = createHandlerContext({
    service: RecoveryService,
    method: RecoveryService.method.acceptRecovery,
    protocolName: 'grpc',
    requestMethod: 'POST',
    url: '',
    contextValues: createContextValues().set(callerKey, caller),
  });
  return impl(request, context);
}

test('a decision is answered although the step that follows it reads a long stream', async () => {
  expect(await accept(() => new Promise(() => undefined))).toEqual({});
});

test('a decision waits for a short step, and reports its failure', async () => {
  await expect(accept(() => Promise.reject(new Error('no database')))).rejects.toThrow('no database');
});
