import { createHmac, createSecretKey } from 'node:crypto';
import { publicId, storedId } from '../../../contract/public-id.ts';
import type { NewId, StoredId } from '../../../contract/public-id.ts';
import type { AttemptId, Environment, MerchantId } from '../../domain/order.ts';
import { maxAttempts } from '../../domain/transition.ts';

/** The names by which an order is recognised after it was lost. */
export interface NumberedOrder {
  readonly merchantId: MerchantId;
  readonly environment: Environment;
  readonly orderNumber: string;
}

/**
 * Ids of payment attempts. A wallet repeats the id, or its end, in statements. The end is derived from the order's number with a
 * secret key. So the gateway recognises the payment of a lost order when the shop sends the number again. The id tells others
 * nothing.
 */
export interface AttemptIds {
  /** The id of the order's attempt with this number, from 1. Its beginning is the time, as in all ids. */
  readonly next: (order: NumberedOrder, number: number, at: Date) => AttemptId;
  /** The ends of all ids that attempts of the order may have. */
  readonly endsOf: (order: NumberedOrder) => readonly string[];
}

/** Payers may pay without a request of ours, so an order may have a few attempts more. */
const maxSearchedAttempts = maxAttempts + 3;
const endLength = 12;

/** The part of an attempt's id that is derived: its last 12 characters. */
export const endOfAttemptId = (id: string): string => id.slice(-endLength);

export function createAttemptIds(newId: NewId, key: Buffer): AttemptIds {
  // Prepared once. With a Buffer, every HMAC derives its key again, which takes longer than the HMAC.
  const secret = createSecretKey(key);
  const next = ({ merchantId, environment, orderNumber }: NumberedOrder, number: number, at: Date) => {
    const digest = createHmac('sha256', secret)
      .update(`${merchantId} ${environment} ${orderNumber} ${number}`)
      .digest();
    // The variant of a UUID (RFC 9562).
    digest[0] = ((digest[0] ?? 0) & 0x3f) | 0x80;
    const end = digest.toString('hex', 0, 8);
    const begin = storedId('pat', newId('pat', at)).slice(0, 19);
    return publicId('pat', `${begin}${end.slice(0, 4)}-${end.slice(4)}` as StoredId<'pat'>);
  };
  return {
    next,
    endsOf: (order) =>
      Array.from({ length: maxSearchedAttempts }, (_, index) =>
        endOfAttemptId(next(order, index + 1, new Date(0))),
      ),
  };
}
