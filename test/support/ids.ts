import { publicId as strictPublicId, storedId as strictStoredId } from '../../src/contract/public-id.ts';
import type { IdPrefix, PublicId, StoredId } from '../../src/contract/public-id.ts';

/* Ids for tests, which have them as plain texts: out of answers, out of rows. A wrong kind still throws. */

export const storedId = <P extends IdPrefix>(prefix: P, id: string): StoredId<P> =>
  strictStoredId(prefix, id as PublicId<P>);

export const publicId = <P extends IdPrefix>(prefix: P, uuid: string): PublicId<P> =>
  strictPublicId(prefix, uuid as StoredId<P>);
