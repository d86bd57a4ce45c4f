import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

/** Which idle session a client gets for its next transaction: the one used last, as with PgBouncer's default, or the one idle for longest. */
export type Turn = 'last used' | 'longest idle';

/** A pooler in front of PostgreSQL whose clients share its sessions from transaction to transaction. */
export interface SharingPooler {
  readonly port: number;
  readonly close: () => Promise<void>;
}

/** The length of a message's type and size, and the size and status of ReadyForQuery (PostgreSQL, 54.7). */
const headerBytes = 5;
const readyForQuery = 'Z'.charCodeAt(0);
const terminate = 'X'.charCodeAt(0);
const outsideOfTransaction = 'I'.charCodeAt(0);

/** Finds the ends of transactions in the messages of a server. */
function createEndFinder(): (bytes: Buffer) => boolean {
  let kept = Buffer.alloc(0);
  return (bytes) => {
    kept = Buffer.concat([kept, bytes]);
    let isEnd = false;
    while (kept.length >= headerBytes) {
      const length = 1 + kept.readInt32BE(1);
      if (kept.length < length) break;
      isEnd = kept[0] === readyForQuery && kept[headerBytes] === outsideOfTransaction;
      kept = kept.subarray(length);
    }
    return isEnd && kept.length === 0;
  };
}

/** A client signs in to a session of its own, which all clients share from then on. */
export async function startSharingPooler(
  target: { readonly host: string; readonly port: number },
  turn: Turn,
): Promise<SharingPooler> {
  const sockets = new Set<Socket>();
  const idle: Socket[] = [];
  const waiting: (() => void)[] = [];
  const clientOf = new Map<Socket, Socket>();
  const take = (): Socket | undefined => (turn === 'last used' ? idle.pop() : idle.shift());

  function openSession(): Socket {
    const session = connect(target);
    const isEnd = createEndFinder();
    sockets.add(session);
    session.on('error', () => session.destroy());
    session.on('data', (bytes) => {
      const client = clientOf.get(session);
      if (isEnd(bytes)) {
        clientOf.delete(session);
        idle.push(session);
        waiting.shift()?.();
      }
      client?.write(bytes);
    });
    return session;
  }

  const server = createServer((client) => {
    let session: Socket | undefined = openSession();
    clientOf.set(session, client);
    sockets.add(client);
    client.on('error', () => client.destroy());
    client.on('data', (bytes) => {
      if (bytes[0] === terminate) return;
      const send = (): void => {
        if (session === undefined || clientOf.get(session) !== client) session = take();
        if (session === undefined) {
          waiting.push(send);
          return;
        }
        clientOf.set(session, client);
        session.write(bytes);
      };
      send();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
