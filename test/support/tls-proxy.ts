import { request as httpRequest } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';

export interface TlsProxy {
  /** The host name under which clients reach it. */
  readonly origin: string;
  /** Forwards all further requests to this origin. */
  readonly forwardTo: (origin: string) => void;
  readonly close: () => Promise<void>;
}

/**
 * Ends TLS in front of a process like nginx with `$proxy_add_x_forwarded_for`: a client's own value of the header
 * precedes its address. The certificate is for localhost.
 */
export async function startTlsProxy(certificate: {
  readonly key: string;
  readonly cert: string;
}): Promise<TlsProxy> {
  let target = '';
  const server = createServer(certificate, (incoming, outgoing) => {
    const said = incoming.headers['x-forwarded-for'];
    const headers = {
      ...incoming.headers,
      'x-forwarded-for': [said ?? [], incoming.socket.remoteAddress ?? ''].flat().join(', '),
      'x-forwarded-proto': 'https',
    };
    const { method, url } = incoming;
    const forwarded = httpRequest(`${target}${url}`, { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    forwarded.on('error', () => outgoing.destroy());
    incoming.pipe(forwarded);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    origin: `https://localhost:${(server.address() as AddressInfo).port}`,
    forwardTo: (origin) => void (target = origin),
    close: async () => {
      const closed = new Promise<void>((done) => server.close(() => done()));
      server.closeAllConnections();
      await closed;
    },
  };
}
