import type { PublicId } from '../../../contract/public-id.ts';
import type {
  ListOrderEventsRequest,
  WatchOrderEventsRequest,
} from '../../../gen/gatehouse/v1/order_service_pb.js';
import { storedId } from '../../../contract/public-id.ts';
import { combine } from '../../domain/combine.ts';
import type { Issue } from '../../domain/issue.ts';
import { err, ok } from '../../domain/result.ts';
import type { Result } from '../../domain/result.ts';
import type { EventFilter } from '../../events/follow-events.ts';
import { parseOptionalEnvironment } from '../../rpc/environment.ts';
import { parseOptionalId } from '../../rpc/request-fields.ts';

type EventsOfMerchant = Pick<WatchOrderEventsRequest, 'merchantId' | 'environment'>;
type EventsOfOrder = Pick<ListOrderEventsRequest, 'merchantId' | 'environment' | 'orderId'>;

/** The optional merchant, environment and order of the events. */
export function parseEventFilter(
  request: EventsOfMerchant | EventsOfOrder,
): Result<EventFilter, readonly Issue[]> {
  const parsed = combine({
    merchantId: parseOptionalId('mer', request.merchantId, 'merchant_id'),
    environment: parseOptionalEnvironment(request.environment),
    orderId: 'orderId' in request ? parseEventOrder(request) : ok(undefined),
  });
  if (!parsed.ok) return parsed;
  const { merchantId, environment, orderId } = parsed.value;
  return ok({
    ...(merchantId === undefined ? {} : { merchantId: storedId('mer', merchantId) }),
    ...(environment === undefined ? {} : { environment }),
    ...(orderId === undefined ? {} : { orderId: storedId('ord', orderId) }),
  });
}

function parseEventOrder(request: EventsOfOrder): Result<PublicId<'ord'> | undefined, Issue> {
  if (request.orderId !== '' && request.merchantId === '') {
    return err({ field: 'merchant_id', issue: 'is required with order_id' });
  }
  return parseOptionalId('ord', request.orderId, 'order_id');
}
