import { create } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { Duration } from '@bufbuild/protobuf/wkt';
import type { HandlerContext } from '@connectrpc/connect';
import {
  MerchantSchema,
  MerchantService,
  MerchantStatus,
} from '../../gen/gatehouse/v1/merchant_service_pb.js';
import type { Merchant as MerchantMessage } from '../../gen/gatehouse/v1/merchant_service_pb.js';
import { annotate } from '../../runtime/rpc/call-context.ts';
import { rpcError } from '../../runtime/rpc/rpc-error.ts';
import { rpcService } from '../../runtime/rpc/rpc-service.ts';
import type { RpcService } from '../../runtime/rpc/rpc-service.ts';
import { actorOf } from '../../runtime/rpc/actor.ts';
import { pageOf } from '../../runtime/rpc/page-token.ts';
import { parsePageSize, parsePageToken } from '../rpc/page-token.ts';
import { combine } from '../domain/combine.ts';
import type { Issue } from '../domain/issue.ts';
import { err, ok } from '../domain/result.ts';
import type { Result } from '../domain/result.ts';
import { parseText } from '../domain/text.ts';
import { parseId, valuesOrThrow } from '../rpc/request-fields.ts';
import type { Merchant, MerchantChange, MerchantStore } from './merchant-store.ts';

const nameLength = 128;
const suspensionReasonLength = 255;
const standardSessionSeconds = 30 * 60;
const minSessionSeconds = 5 * 60;
const maxSessionSeconds = 24 * 60 * 60;

/** gatehouse.v1.MerchantService. */
export function merchantService(store: MerchantStore): RpcService {
  const change = async (merchantId: string, wanted: MerchantChange, context: HandlerContext) => {
    const merchant = await store.change(requireId(merchantId), wanted, actorOf(context));
    annotate(context, { merchant_id: merchantId });
    return { merchant: merchantMessage(found(merchant, merchantId)) };
  };
  return rpcService(
    MerchantService,
    {
      async createMerchant(request, context) {
        const values = valuesOrThrow(
          combine({
            name: parseText(request.name, 'name', { max: nameLength, required: true }),
            sessionLifetimeSeconds: parseSessionLifetime(request.sessionLifetime),
          }),
        );
        const { productionActivated } = request;
        const merchant = await store.create({ ...values, productionActivated }, actorOf(context));
        annotate(context, { merchant_id: merchant.id });
        return { merchant: merchantMessage(merchant) };
      },
      async getMerchant({ merchantId }) {
        return { merchant: merchantMessage(found(await store.find(requireId(merchantId)), merchantId)) };
      },
      async listMerchants({ pageSize, pageToken }) {
        const { limit, beforeId } = valuesOrThrow(
          combine({ limit: parsePageSize(pageSize), beforeId: parsePageToken(pageToken, 'mer', []) }),
        );
        const page = pageOf(await store.list(beforeId, limit + 1), limit, []);
        return { merchants: page.items.map(merchantMessage), nextPageToken: page.nextPageToken };
      },
      async suspendMerchant({ merchantId, reason }, context) {
        valuesOrThrow(parseText(reason, 'reason', { max: suspensionReasonLength, required: false }));
        const wanted: MerchantChange = {
          action: 'merchant.suspend',
          set: { status: 'SUSPENDED' },
          details: { reason },
        };
        return change(merchantId, wanted, context);
      },
      async resumeMerchant({ merchantId }, context) {
        return change(
          merchantId,
          { action: 'merchant.resume', set: { status: 'ACTIVE' }, details: {} },
          context,
        );
      },
      async activateProduction({ merchantId }, context) {
        const wanted = {
          action: 'merchant.activate_production',
          set: { productionActivated: true },
          details: {},
        };
        return change(merchantId, wanted, context);
      },
    },
    {
      createMerchant: ['operator'],
      getMerchant: ['operator', 'reader', 'checkout', 'webhooks'],
      listMerchants: ['operator', 'reader'],
      suspendMerchant: ['operator'],
      resumeMerchant: ['operator'],
      activateProduction: ['operator'],
    },
  );
}

const requireId = (merchantId: string): string => valuesOrThrow(parseId('mer', merchantId, 'merchant_id'));

function found(merchant: Merchant | undefined, merchantId: string): Merchant {
  if (merchant === undefined) throw rpcError('MERCHANT_NOT_FOUND', `there is no merchant ${merchantId}`);
  return merchant;
}

function parseSessionLifetime(duration: Duration | undefined): Result<number, Issue> {
  if (duration === undefined) return ok(standardSessionSeconds);
  const seconds = Number(duration.seconds);
  if (duration.nanos !== 0 || seconds < minSessionSeconds || seconds > maxSessionSeconds) {
    return err({
      field: 'session_lifetime',
      issue: 'must be whole seconds from 300s (5 minutes) to 86400s (24 hours)',
    });
  }
  return ok(seconds);
}

const statuses = { ACTIVE: MerchantStatus.ACTIVE, SUSPENDED: MerchantStatus.SUSPENDED } as const;

function merchantMessage(merchant: Merchant): MerchantMessage {
  return create(MerchantSchema, {
    merchantId: merchant.id,
    name: merchant.name,
    status: statuses[merchant.status],
    productionActivated: merchant.productionActivated,
    sessionLifetime: { seconds: BigInt(merchant.sessionLifetimeSeconds) },
    createTime: timestampFromDate(merchant.createdAt),
    updateTime: timestampFromDate(merchant.updatedAt),
  });
}
