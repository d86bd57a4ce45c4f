import { validate } from 'uuid';
import { uuidOfId } from '../../contract/public-id.ts';

/**
 * The UUID for X-CorrelationID: the UUID inside our id, so that either can be derived from the other, or the request id itself
 * if it is a UUID.
 * @throws TypeError for any other text, because no payment may be sent with an invented id
 */
export function correlationId(requestId: string): string {
  if (validate(requestId)) return requestId.toLowerCase();
  const uuid = uuidOfId(requestId);
  if (uuid === undefined) throw new TypeError(`${requestId} is neither an id of Gatehouse nor a UUID`);
  return uuid;
}
