import { validate } from 'uuid';
import { uuidOfId } from '../../contract/public-id.ts';

/**
 * The UUID for X-CorrelationID. It is the UUID inside our id, so that each can be derived from the other. If the request id is a UUID
 * itself, it is used.
 * @throws TypeError for any other text, because no payment may be sent with an invented id
 */
export function correlationId(requestId: string): string {
  if (validate(requestId)) return requestId.toLowerCase();
  const uuid = uuidOfId(requestId);
  if (uuid === undefined) throw new TypeError(`${requestId} is neither an id of Gatehouse nor a UUID`);
  return uuid;
}
