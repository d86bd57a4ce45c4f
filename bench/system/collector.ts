import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A collector of spans that keeps nothing. */
export interface Collector {
  readonly url: string;
  /** The bytes that it received. */
  readonly bytes: () => number;
  readonly stop: () => Promise<void>;
}

export async function startCollector(): Promise<Collector> {
  let bytes = 0;
  const server = createServer((request, response) => {
    request.on('data', (chunk: Buffer) => (bytes += chunk.length));
    request.on('end', () => response.end());
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bytes: () => bytes,
    stop: () =>
      new Promise((stopped) => {
        server.close(() => stopped());
        server.closeAllConnections();
      }),
  };
}
