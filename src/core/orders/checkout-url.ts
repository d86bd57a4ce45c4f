import { createHmac } from 'node:crypto';
import { storedId } from '../database/public-id.ts';
import type { Order } from '../domain/order.ts';

/** Gives the one-time checkout URL of an order: the same one whenever it is asked again. */
export type CheckoutUrlOf = (order: Pick<Order, 'id' | 'merchantId' | 'environment'>) => string;

const uuidBytes = (uuid: string): Buffer => Buffer.from(uuid.replaceAll('-', ''), 'hex');

/**
 * The token in the URL names the order and carries a 256-bit HMAC over that name, so nothing about it is stored: it can
 * be made again for a merchant that lost our answer, and nobody can make one without the key (docs/adr).
 */
export function createCheckoutUrl(baseUrl: string, key: Buffer): CheckoutUrlOf {
  return ({ id, merchantId, environment }) => {
    const name = Buffer.concat([
      Buffer.from([environment === 'SANDBOX' ? 0 : 1]),
      uuidBytes(storedId('mer', merchantId)),
      uuidBytes(storedId('ord', id)),
    ]);
    const mac = createHmac('sha256', key).update(name).digest();
    return `${baseUrl}/c/${Buffer.concat([name, mac]).toString('base64url')}`;
  };
}
