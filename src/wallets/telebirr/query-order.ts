import type { JsonReply } from '../connector/json-reply.ts';
import type { Answer, ExchangePurpose } from '../connector/raw-exchange.ts';
import type { FabricClient } from './fabric-client.ts';

/** Queries an order by our id of it. The answer also shows the state of its refunds. */
export const queryOrder = (
  client: FabricClient,
  purpose: ExchangePurpose,
  order: string,
  signal: AbortSignal,
): Promise<Answer<JsonReply>> =>
  client.call(
    {
      purpose,
      method: 'payment.queryorder',
      path: 'merchant/queryOrder',
      secrets: [],
      content: { merch_order_id: order },
    },
    signal,
  );
