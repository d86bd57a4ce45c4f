import { createHash } from 'node:crypto';
import type { CallOwner } from '../../../platform/fair-calls.ts';
import { storedId } from '../../../contract/public-id.ts';
import type { OrderRow } from '../../database/order-entities.ts';
import type { TokenSubject } from './checkout-token.ts';

/** The name of a link's order. */
export const nameOf = ({ environment, merchantId, orderId: id }: TokenSubject) => ({
  environment,
  merchantId,
  id,
});

/** The key of the row of a link's order. */
export const rowKeyOf = ({ environment, merchantId, orderId }: TokenSubject) => ({
  environment,
  merchantId: storedId('mer', merchantId),
  id: storedId('ord', orderId),
});

/** The links of a merchant share its turns. The merchant's own calls have others, so that neither holds up the other. */
export const ownerOf = ({ environment, merchantId, orderId }: TokenSubject): CallOwner => ({
  owner: `checkouts ${environment} ${merchantId}`,
  part: orderId,
});

/** The stored hash of the browser that a checkout is bound to. */
export const browserHashOf = (browserSecret: string): Buffer =>
  createHash('sha256').update(browserSecret).digest();

/** Whether a browser may pay or cancel the order: it is bound, or no browser is bound yet. */
export function isUsableBy({ checkoutBrowserHash }: OrderRow, browserSecret: string): boolean {
  if (checkoutBrowserHash == null) return true;
  return browserSecret !== '' && browserHashOf(browserSecret).equals(checkoutBrowserHash);
}
