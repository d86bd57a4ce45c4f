import { TypeID } from 'typeid-js';
import { validate } from 'uuid';

/**
 * The UUID that the contract wants for X-CorrelationID, of one of our ids: the one a TypeID is written from, so that
 * either can be found from the other, or the id itself if it is a UUID.
 * @throws TypeError for any other id: that is the caller's mistake, and no payment may go out under a made-up one
 */
export function correlationId(requestId: string): string {
  if (validate(requestId)) return requestId.toLowerCase();
  try {
    return TypeID.fromString(requestId).toUUID();
  } catch {
    throw new TypeError(`${requestId} is neither a TypeID nor a UUID`);
  }
}
