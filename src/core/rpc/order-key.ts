import type { PublicId } from '../../contract/public-id.ts';
import type { Issue } from '../domain/issue.ts';
import { OrderNumber } from '../domain/order-number.ts';
import { err, ok } from '../domain/result.ts';
import type { Result } from '../domain/result.ts';
import { parseId } from './request-fields.ts';

/** The name of an order within its merchant and environment. */
export type NameInEnvironment =
  | { readonly by: 'order_number'; readonly value: string }
  | { readonly by: 'id'; readonly value: PublicId<'ord'> };

/** The `oneof key` of a request that names an order. */
export type OrderKeyField =
  | { readonly case: 'orderNumber' | 'orderId'; readonly value: string }
  | { readonly case: undefined; readonly value?: undefined };

/** Parses the key of the requested order. Issue: absent, or invalid. */
export function parseOrderKey(key: OrderKeyField): Result<NameInEnvironment, Issue> {
  switch (key.case) {
    case 'orderNumber': {
      const orderNumber = OrderNumber.parse(key.value, 'order_number');
      return orderNumber.ok ? ok({ by: 'order_number', value: orderNumber.value }) : orderNumber;
    }
    case 'orderId': {
      const orderId = parseId('ord', key.value, 'order_id');
      return orderId.ok ? ok({ by: 'id', value: orderId.value }) : orderId;
    }
    case undefined:
      return err({ field: 'order_number', issue: 'is required, unless order_id is given' });
  }
}
