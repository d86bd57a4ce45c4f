import { parse, stringify, validate } from 'uuid';
import { uuidOfId } from '../../contract/public-id.ts';

const versionByte = 6;
const version4 = 0x40;

/**
 * The X-Reference-Id of a payment or refund: the UUID in our id with version 4, which MTN requires. Our ids contain UUIDs of
 * version 7, so only the four bits of the version change. They are the same in all our ids, so two ids never share a reference,
 * and the same id always has the same reference. The other 122 bits remain, so support can find our id from the reference.
 * @throws TypeError for any other text, because no payment may be sent with an invented id
 */
export function referenceId(requestId: string): string {
  const uuid = validate(requestId) ? requestId : uuidOfId(requestId);
  if (uuid === undefined) throw new TypeError(`${requestId} is neither an id of Gatehouse nor a UUID`);
  const bytes = parse(uuid);
  bytes[versionByte] = version4 | ((bytes[versionByte] ?? 0) & 0x0f);
  return stringify(bytes);
}
