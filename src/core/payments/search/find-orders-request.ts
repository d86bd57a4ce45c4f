import type { FindOrdersRequest } from '../../../gen/gatehouse/v1/order_service_pb.js';
import { isPublicId } from '../../../contract/public-id.ts';
import { combine } from '../../domain/combine.ts';
import type { Issue } from '../../domain/issue.ts';
import { err, ok } from '../../domain/result.ts';
import type { Result } from '../../domain/result.ts';
import { parsePageSize, parsePageToken } from '../../rpc/page-token.ts';
import type { AnywhereSearch } from './find-orders-anywhere.ts';
import { readPhone } from './list-orders-request.ts';

/** Parses a search over all merchants. A page token is bound to `key`. */
export function parseFindOrders(
  request: FindOrdersRequest,
): Result<{ search: AnywhereSearch; key: unknown }, readonly Issue[]> {
  const key = [request.text];
  const parsed = combine({
    text: parseText(request.text),
    beforeId: parsePageToken(request.pageToken, 'ord', key),
    limit: parsePageSize(request.pageSize),
  });
  if (!parsed.ok) return parsed;
  const { text, ...page } = parsed.value;
  const phone = readPhone(text, 'text');
  const isNumber = /^[\x21-\x7e]+$/.test(text);
  return ok({
    search: {
      ...page,
      orderId: isPublicId('ord', text) ? text : undefined,
      orderNumber: isNumber ? text : undefined,
      providerTransactionId: text,
      phone: phone.ok ? phone.value.e164 : undefined,
    },
    key,
  });
}

function parseText(text: string): Result<string, Issue> {
  const length = [...text].length;
  if (length < 1 || length > 64 || text.trim() !== text || /\p{Cc}/u.test(text))
    return err({
      field: 'text',
      issue: 'must be 1 to 64 characters without control characters, and without spaces at the start or end',
    });
  return ok(text);
}
