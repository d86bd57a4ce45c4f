import { validate } from 'uuid';
import { uuidOfId } from '../../contract/public-id.ts';

/**
 * The UUID that the contract wants for X-CorrelationID: the one inside an id of ours, so that either can be found from the
 * other, or the request id itself if it is a UUID.
 * @throws TypeError for any other text: that is the caller's mistake, and no payment may go out under a made-up id
 */
export function correlationId(requestId: string): string {
  if (validate(requestId)) return requestId.toLowerCase();
  const uuid = uuidOfId(requestId);
  if (uuid === undefined) throw new TypeError(`${requestId} is neither an id of Gatehouse nor a UUID`);
  return uuid;
}
