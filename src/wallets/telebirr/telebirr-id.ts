import { validate } from 'uuid';
import { uuidOfId } from '../../contract/public-id.ts';

/**
 * An id of ours in the form of telebirr: the UUID in it, as 32 hexadecimal digits. It is the `merch_order_id` of a payment, or the
 * `refund_request_no` of a refund. telebirr accepts letters and digits only, and refuses some longer ids.
 * @throws TypeError for any other text, because no payment may be sent with an invented id
 */
export function telebirrId(requestId: string): string {
  const uuid = validate(requestId) ? requestId : uuidOfId(requestId);
  if (uuid === undefined) throw new TypeError(`${requestId} is neither an id of Gatehouse nor a UUID`);
  return uuid.toLowerCase().replaceAll('-', '');
}
