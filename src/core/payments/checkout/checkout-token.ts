import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto';
import { environmentBytes } from '../../../contract/checkout-environment.ts';
import { publicId, storedId } from '../../../contract/public-id.ts';
import type { IdPrefix, PublicId, StoredId } from '../../../contract/public-id.ts';
import type { Environment, Order } from '../../domain/order.ts';

/** The order in a checkout token, with public ids. */
export interface TokenSubject {
  readonly environment: Environment;
  readonly merchantId: PublicId<'mer'>;
  readonly orderId: PublicId<'ord'>;
}

export interface CheckoutTokens {
  /** The checkout URL of an order. It is the same at each call. */
  readonly urlOf: (order: Pick<Order, 'id' | 'merchantId' | 'environment'>) => string;
  /** The checkout URL of an order that can be paid there; empty when it is DIRECT or not PENDING. */
  readonly openUrlOf: (order: Order) => string;
  /** The order in a token; undefined for a token that Gatehouse did not issue. */
  readonly open: (token: string) => TokenSubject | undefined;
}

/** One byte for the environment, and the ids of the merchant and the order with 16 bytes each. */
const nameLength = 33;
const macLength = 32;
const tokenForm = /^[A-Za-z0-9_-]{87}$/;

const hexOf = (uuid: string): string => uuid.replaceAll('-', '');
const uuidOf = <P extends IdPrefix>(bytes: Buffer): StoredId<P> =>
  bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5') as StoredId<P>;

/**
 * The token in the URL contains the order's id and a 256-bit HMAC over it, so nothing is stored. A merchant that lost
 * the answer gets the same token again. Without the key, nobody can make one (docs/adr/0003).
 */
export function createCheckoutTokens(baseUrl: string, key: Buffer): CheckoutTokens {
  // Prepared once. With a Buffer, every HMAC derives its key again, which takes five times as long as the HMAC.
  const secret = createSecretKey(key);
  const macOf = (name: Buffer): Buffer => createHmac('sha256', secret).update(name).digest();
  const urlOf: CheckoutTokens['urlOf'] = ({ id, merchantId, environment }) => {
    const token = Buffer.alloc(nameLength + macLength);
    token[0] = environmentBytes[environment];
    token.write(hexOf(storedId('mer', merchantId)), 1, 'hex');
    token.write(hexOf(storedId('ord', id)), 17, 'hex');
    macOf(token.subarray(0, nameLength)).copy(token, nameLength);
    return `${baseUrl}/c/${token.toString('base64url')}`;
  };
  return {
    urlOf,
    openUrlOf: (order) => (order.status === 'PENDING' && order.paymentType !== 'DIRECT' ? urlOf(order) : ''),
    open(token) {
      if (!tokenForm.test(token)) return undefined;
      const bytes = Buffer.from(token, 'base64url');
      // Each token has one spelling. base64url leaves bits of the last character unused.
      if (bytes.length !== nameLength + macLength || bytes.toString('base64url') !== token) return undefined;
      const name = bytes.subarray(0, nameLength);
      if (!timingSafeEqual(macOf(name), bytes.subarray(nameLength))) return undefined;
      return {
        environment: name[0] === environmentBytes.SANDBOX ? 'SANDBOX' : 'PRODUCTION',
        merchantId: publicId('mer', uuidOf(name.subarray(1, 17))),
        orderId: publicId('ord', uuidOf(name.subarray(17))),
      };
    },
  };
}
