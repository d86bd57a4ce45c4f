import type { MethodImplSpec } from '@connectrpc/connect';
import type { Role } from '../../contract/roles.ts';
import { createFairCalls } from '../../platform/fair-calls.ts';
import type { FairCalls } from '../../platform/fair-calls.ts';
import { callerOf } from '../../platform/rpc/call-context.ts';
import type { RpcService } from '../../platform/rpc/rpc-service.ts';

/** The number of calls that would run at a time for several roles. The role is alone here, and gets half of the number. */
const maxRunning = 8;
/** The calls about a merchant, or about all, that wait for their turn. */
const maxWaiting = 100;
const reader: Role = 'reader';

/**
 * Reads with statements of their own. Other reads share statements. Some of these also take turns by merchant, and a reader must not
 * fill those turns, because the merchant's own reads wait there.
 */
const ownReads: ReadonlySet<string> = new Set([
  'ExplainOrder',
  'GetApiRequest',
  'GetAuditRoot',
  'GetCertifications',
  'GetFirstSteps',
  'GetOrderReport',
  'GetOrderStory',
  'GetPayerPayment',
  'GetPaymentAttempt',
  'GetReconciliation',
  'GetRecovery',
  'GetRefundable',
]);

/** `ListOrderEvents` has turns of its own, for all roles. */
const takesTurns = (name: string): boolean =>
  ownReads.has(name) || (name.startsWith('List') && name !== 'ListOrderEvents');

/**
 * Lets the lists and `ownReads` of the role `reader` take turns, over all services. Its tokens are given to programs outside of the gateway.
 * One of them with very many calls at once would delay the payments of all merchants.
 */
export function withReaderTurns(services: readonly RpcService[]): RpcService[] {
  const fairly = createFairCalls({ maxRunning, maxWaiting });
  return services.map((service) => {
    const { spec, access } = service;
    const methods = Object.entries(spec.methods).map(([name, method]) => [name, takingTurns(method, fairly)]);
    return {
      access,
      spec: { ...spec, methods: Object.fromEntries(methods) as Record<string, MethodImplSpec> },
    };
  });
}

function takingTurns(spec: MethodImplSpec, fairly: FairCalls): MethodImplSpec {
  if (spec.kind !== 'unary' || !takesTurns(spec.method.name)) return spec;
  const { impl } = spec;
  const inTurn: typeof impl = (request, context) =>
    callerOf(context).role === reader
      ? fairly({ owner: reader, part: merchantOf(request) }, context.signal, async () =>
          impl(request, context),
        )
      : impl(request, context);
  return { ...spec, impl: inTurn };
}

const merchantOf = (request: object): string =>
  'merchantId' in request && typeof request.merchantId === 'string' ? request.merchantId : '';
