import { typedPhone } from '../../contract/typed-phone.ts';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { rpcError } from '../../contract/error-reason.ts';
import { publicId } from '../../contract/public-id.ts';
import { rpcService } from '../../contract/rpc-service.ts';
import { ErasureObstacle, PersonalDataService } from '../../gen/gatehouse/v1/personal_data_service_pb.js';
import { annotate, markUneventful } from '../../platform/rpc/call-context.ts';
import { pageOf } from '../../platform/rpc/page-token.ts';
import type { RpcService } from '../../platform/rpc/rpc-service.ts';
import { actingOperatorOf } from '../accounts/acting-operator.ts';
import { requireOperator } from '../accounts/require-operator.ts';
import { findActorEmails } from '../audit/find-actor-emails.ts';
import type { Database } from '../database/database.ts';
import { combine } from '../domain/combine.ts';
import { PhoneNumber } from '../domain/phone-number.ts';
import { ok } from '../domain/result.ts';
import { formatCursor } from '../../contract/event-cursor.ts';
import { parseCursor } from '../events/event-cursor.ts';
import type { FindMerchant } from '../merchants/find-merchant.ts';
import { environmentNumbers } from '../rpc/environment.ts';
import { parsePageSize, parsePageToken } from '../rpc/page-token.ts';
import { parseOptionalId, valuesOrThrow } from '../rpc/request-fields.ts';
import { readWaiting } from './due-erasures.sql.ts';
import { countWaitingPayments } from './erase-payer-payments.sql.ts';
import type { WaitingOrder } from './due-erasures.sql.ts';
import { readErasedOrders } from './erased-orders.sql.ts';
import type { ErasureRequest, ErasureRequests } from './erasure-requests.ts';
import type { Obstacle } from './obstacles.sql.ts';

export interface PersonalDataParts {
  readonly database: Pick<Database, 'pool' | 'fork'>;
  readonly requests: ErasureRequests;
  readonly findMerchant: FindMerchant;
}

const erasedPageSize = 500;
const waitingShown = 20;

/** gatehouse.v1.PersonalDataService. */
export function personalDataService(parts: PersonalDataParts): RpcService {
  const { database, requests, findMerchant } = parts;
  const messagesOf = async (found: readonly ErasureRequest[]) => {
    const ids = found.map(({ id }) => id);
    const [{ counts, orders }, payments, emails] = await Promise.all([
      readWaiting(database.pool, ids, waitingShown),
      countWaitingPayments(database.pool, ids),
      findActorEmails(
        database.fork(),
        found.map(({ requestedBy }) => requestedBy),
      ),
    ]);
    return found.map((request) => ({
      erasureRequestId: publicId('ers', request.id),
      merchantId: request.merchantId === null ? '' : publicId('mer', request.merchantId),
      requestedBy: request.requestedBy,
      requestedByEmail: emails.get(request.requestedBy) ?? '',
      createTime: timestampFromDate(request.createdAt),
      orderCount: BigInt(request.orderCount),
      payerPaymentCount: BigInt(request.payerPaymentCount),
      waitingCount: counts.get(request.id) ?? 0n,
      waitingPayerPaymentCount: payments.get(request.id) ?? 0n,
      waiting: orders.filter(({ requestId }) => requestId === request.id).map(waitingMessage),
    }));
  };
  return rpcService(
    PersonalDataService,
    {
      async erasePersonalData({ phone, merchantId, validateOnly }, context) {
        const values = valuesOrThrow(
          combine({
            phone: PhoneNumber.parse(typedPhone(phone), 'phone'),
            merchant: parseOptionalId('mer', merchantId, 'merchant_id'),
          }),
        );
        const acting = actingOperatorOf(context);
        await requireOperator(database.fork(), acting);
        const { merchant } = values;
        if (merchant !== undefined && (await findMerchant(merchant)) === undefined)
          throw rpcError('MERCHANT_NOT_FOUND', `there is no merchant ${merchantId}`);
        if (validateOnly) {
          const { orderCount, payerPaymentCount } = await requests.count(values.phone.e164, merchant);
          return {
            erasureRequest: {
              merchantId,
              requestedBy: acting.by.actor,
              orderCount: BigInt(orderCount),
              payerPaymentCount: BigInt(payerPaymentCount),
            },
          };
        }
        const request = await requests.create(values.phone.e164, merchant, acting.by);
        annotate(context, { erasure_request_id: publicId('ers', request.id) });
        const [erasureRequest] = await messagesOf([request]);
        return { erasureRequest };
      },
      async listErasureRequests({ phone, pageSize, pageToken }) {
        const { asked, limit, beforeId } = valuesOrThrow(
          combine({
            asked: phone === '' ? ok(undefined) : PhoneNumber.parse(typedPhone(phone), 'phone'),
            limit: parsePageSize(pageSize),
            beforeId: parsePageToken(pageToken, 'ers', [phone]),
          }),
        );
        const found = await requests.list(asked?.e164, beforeId, limit + 1);
        const named = found.map((request) => ({
          ...request,
          id: publicId('ers', request.id),
          stored: request,
        }));
        const page = pageOf(named, limit, [phone]);
        return {
          erasureRequests: await messagesOf(page.items.map(({ stored }) => stored)),
          nextPageToken: page.nextPageToken,
        };
      },
      async listErasedOrders({ afterCursor }, context) {
        const after = valuesOrThrow(parseCursor(afterCursor));
        const { orders, next } = await readErasedOrders(database.pool, after, erasedPageSize);
        if (orders.length === 0) markUneventful(context);
        return {
          orders: orders.map((order) => ({
            merchantId: publicId('mer', order.merchantId),
            environment: environmentNumbers[order.environment],
            orderId: publicId('ord', order.orderId),
            eraseTime: timestampFromDate(order.erasedAt),
          })),
          nextCursor: formatCursor(next),
        };
      },
    },
    {
      erasePersonalData: ['dashboard', 'operator'],
      listErasureRequests: ['dashboard', 'operator', 'reader'],
      listErasedOrders: ['webhooks', 'operator', 'reader'],
    },
  );
}

const obstacles = {
  '': ErasureObstacle.UNSPECIFIED,
  ORDER_OPEN: ErasureObstacle.ORDER_OPEN,
  PAYMENT_OPEN: ErasureObstacle.PAYMENT_OPEN,
  REFUND_OPEN: ErasureObstacle.REFUND_OPEN,
  STRAY_PAYMENT_OPEN: ErasureObstacle.STRAY_PAYMENT_OPEN,
  SETTLEMENT_OPEN: ErasureObstacle.SETTLEMENT_OPEN,
  NOT_SEALED: ErasureObstacle.NOT_SEALED,
  EVENT_CHANGED: ErasureObstacle.EVENT_CHANGED,
  BROKER_UNAVAILABLE: ErasureObstacle.BROKER_UNAVAILABLE,
  FAILED: ErasureObstacle.FAILED,
  LATE_COPIES: ErasureObstacle.LATE_COPIES,
} as const satisfies Record<Obstacle | '', ErasureObstacle>;

const waitingMessage = ({ merchantId, environment, orderId, obstacle, dueAt }: WaitingOrder) => ({
  merchantId: publicId('mer', merchantId),
  environment: environmentNumbers[environment],
  orderId: publicId('ord', orderId),
  obstacle: obstacles[obstacle],
  nextTryTime: timestampFromDate(dueAt),
});
