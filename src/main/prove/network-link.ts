import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

/** The address of a server, as its clients use it. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** The state, after an interruption, of connections that were open before it. `dead`: both ends keep the connection open, and no byte passes, as when a firewall drops its state. */
export type AfterInterruption = 'continue' | 'dead';

/** A network between two processes that can lose all packets without notifying either end. */
export interface NetworkLink {
  /** The port of 127.0.0.1 that the client uses instead of the server's. */
  readonly port: number;
  /** From now on no bytes pass, on existing and new connections. No connection is closed. */
  readonly interrupt: () => void;
  /** New connections pass again. */
  readonly restore: (earlier?: AfterInterruption) => void;
  readonly close: () => Promise<void>;
}

interface Connection {
  readonly near: Socket;
  /** Undefined until the network lets the connection through. */
  far: Socket | undefined;
  isDead: boolean;
}

export async function openNetworkLink(target: Address): Promise<NetworkLink> {
  const connections = new Set<Connection>();
  let isInterrupted = false;

  const pass = ({ near, far }: Connection): void => {
    if (far === undefined) return;
    near.pipe(far);
    far.pipe(near);
  };
  const endOther = (connection: Connection, other: Socket | undefined): void => {
    // While the network is interrupted, an end does not notice that the other one closes.
    if (!connection.isDead && !isInterrupted) other?.destroy();
  };
  const open = (connection: Connection): void => {
    const far = connect(target);
    connection.far = far;
    far.on('error', () => undefined);
    far.on('close', () => endOther(connection, connection.near));
    pass(connection);
  };
  const server = createServer((near) => {
    const connection: Connection = { near, far: undefined, isDead: false };
    connections.add(connection);
    near.on('error', () => undefined);
    near.on('close', () => {
      endOther(connection, connection.far);
      if (connection.far?.destroyed !== false) connections.delete(connection);
    });
    if (!isInterrupted) open(connection);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    interrupt: () => {
      isInterrupted = true;
      for (const { near, far } of connections) for (const socket of [near, far]) socket?.unpipe().pause();
    },
    restore: (earlier = 'dead') => {
      if (!isInterrupted) return;
      isInterrupted = false;
      for (const connection of connections) {
        const { near, far } = connection;
        if (earlier === 'dead') connection.isDead = true;
        if (connection.isDead) continue;
        if (near.destroyed || far?.destroyed === true) {
          near.destroy();
          far?.destroy();
          connections.delete(connection);
        } else if (far === undefined) open(connection);
        else pass(connection);
      }
    },
    close: async () => {
      for (const { near, far } of connections) for (const socket of [near, far]) socket?.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
