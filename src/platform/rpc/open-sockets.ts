import type { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';

/** The open connections of a server, including those whose TLS handshake has not ended. A server that closes waits for these too. */
export function openSocketsOf(server: EventEmitter): ReadonlySet<Socket> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  return sockets;
}
