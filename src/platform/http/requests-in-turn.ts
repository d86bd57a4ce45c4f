import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/** The requests of one connection that are handled at a time. Few clients send a request before they have the answer to the last one. */
const maxAtOnce = 16;

interface Turns {
  handled: number;
  /** The handlers of the next requests. They arrived together, so they are at most as long as one read of the connection. */
  readonly waiting: (() => void)[];
}

const turnsOf = new WeakMap<Duplex, Turns>();

/**
 * Handles few requests of each connection at a time. While others wait, nothing more is read from the connection. Node answers in the order of
 * the requests, and keeps the answers until the client reads them. So a client that sends requests and reads nothing could fill the memory.
 * Requests that wait when the connection closes are not handled.
 */
export function handleInTurn(request: IncomingMessage, response: ServerResponse, handle: () => void): void {
  const { socket } = request;
  const turns = turnsOf.get(socket) ?? begin(socket);
  const take = (): void => {
    turns.handled += 1;
    response.once('close', () => {
      turns.handled -= 1;
      takeNext(socket, turns);
    });
    handle();
  };
  if (turns.handled < maxAtOnce) {
    take();
    return;
  }
  turns.waiting.push(take);
  socket.pause();
}

function takeNext(socket: Duplex, { waiting }: Turns): void {
  // After an answer with `Connection: close`, the answer to another request could not be sent.
  if (!socket.writable) waiting.length = 0;
  const next = waiting.shift();
  if (next === undefined) return;
  if (waiting.length === 0) socket.resume();
  next();
}

function begin(socket: Duplex): Turns {
  const turns: Turns = { handled: 0, waiting: [] };
  turnsOf.set(socket, turns);
  // Node resumes a connection when it has dropped the rest of a request.
  socket.on('resume', () => {
    if (turns.waiting.length > 0) socket.pause();
  });
  socket.once('close', () => {
    turns.waiting.length = 0;
  });
  return turns;
}
