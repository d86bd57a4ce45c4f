import { createServer } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import { listenLocally } from './listen-locally.ts';

/** A merchant's web server to which customers return. */
export interface Shop {
  readonly origin: string;
  /** The received requests in order, with their headers. Browsers' requests for icons are left out. */
  readonly visits: readonly { readonly url: string; readonly headers: IncomingHttpHeaders }[];
  readonly close: () => Promise<void>;
}

export async function openShop(): Promise<Shop> {
  const visits: { url: string; headers: IncomingHttpHeaders }[] = [];
  const server = createServer(({ url = '', headers }, response) => {
    if (url !== '/favicon.ico') visits.push({ url, headers });
    response.setHeader('content-type', 'text/html').end('<title>Shop</title><h1>Thank you</h1>');
  });
  return { ...(await listenLocally(server)), visits };
}
