import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

/** A network between two processes that can lose a connection without telling either end. */
export interface DarkProxy {
  readonly port: number;
  /** From now on nothing passes, on the connections there are or on new ones; none is closed. */
  readonly goDark: () => void;
  /** New connections pass again. Those that were there when it went dark stay dead. */
  readonly heal: () => void;
  readonly close: () => Promise<void>;
}

export async function startDarkProxy(target: { host: string; port: number }): Promise<DarkProxy> {
  const sockets = new Set<Socket>();
  const dead = new WeakSet<Socket>();
  let isDark = false;
  const keep = (socket: Socket): void => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
  };
  const server = createServer((near) => {
    keep(near);
    if (isDark) return;
    const far = connect(target);
    keep(far);
    near.pipe(far);
    far.pipe(near);
    // An end that is closed in the dark is not noticed by the other.
    near.on('close', () => dead.has(far) || far.destroy());
    far.on('close', () => dead.has(near) || near.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    goDark: () => {
      isDark = true;
      for (const socket of sockets) {
        dead.add(socket);
        socket.unpipe().pause();
      }
    },
    heal: () => {
      isDark = false;
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
