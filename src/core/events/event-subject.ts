import { publicId } from '../../contract/public-id.ts';
import type { StoredId } from '../../contract/public-id.ts';
import type { Environment } from '../domain/order.ts';

const words = { SANDBOX: 'sandbox', PRODUCTION: 'production' } as const;

/** The broker's subject of an event: docs/internal-events.md. */
export const eventSubject = (event: {
  readonly environment: Environment;
  readonly merchantId: StoredId<'mer'>;
  readonly type: string;
}): string =>
  `orders.${words[event.environment]}.${publicId('mer', event.merchantId)}.${event.type.toLowerCase()}`;
