import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

/** Whether the server never receives the bytes that cut the connection, or receives them and its answer is lost. */
export type CutMoment = 'before the server' | 'before the answer';

/** A network that ends a connection for both sides at bytes that a test chooses. */
export interface CuttingProxy {
  readonly port: number;
  /** Cuts every connection whose client sends this text, ignoring case. `undefined` stops the cutting. */
  readonly cutAt: (text: string | undefined, moment?: CutMoment) => void;
  /** The number of connections that were cut. */
  readonly cuts: () => number;
  /** Cuts every connection that is open now. */
  readonly cutAll: () => void;
  readonly close: () => Promise<void>;
}

export async function startCuttingProxy(target: { host: string; port: number }): Promise<CuttingProxy> {
  const near = new Set<Socket>();
  let wanted: { readonly text: string; readonly moment: CutMoment } | undefined;
  let cuts = 0;
  const server = createServer((client) => {
    const far = connect(target);
    near.add(client);
    const end = (): void => {
      near.delete(client);
      client.destroy();
      far.destroy();
    };
    for (const socket of [client, far]) socket.on('error', end).on('close', end);
    client.on('data', (bytes) => {
      const isHit = wanted !== undefined && bytes.toString('latin1').toLowerCase().includes(wanted.text);
      if (isHit) cuts += 1;
      if (isHit && wanted?.moment === 'before the server') {
        end();
        return;
      }
      if (isHit) far.removeListener('data', answer).once('data', end);
      far.write(bytes);
    });
    const answer = (bytes: Buffer): void => void client.write(bytes);
    far.on('data', answer);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cutAll = (): void => {
    for (const socket of near) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    cutAt: (text, moment = 'before the server') => {
      wanted = text === undefined ? undefined : { text: text.toLowerCase(), moment };
    },
    cuts: () => cuts,
    cutAll,
    close: async () => {
      cutAll();
      server.close();
      await once(server, 'close');
    },
  };
}
