import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/** The requests of one connection that are handled at a time. Few clients send a request before they have the answer to the last one. */
const maxAtOnce = 16;
/** The bytes that are parsed at a time. Most requests are shorter. */
const pieceBytes = 1024;
/** The connections of a listener that Node may parse by itself. If Node parses one read of each connection, the requests take about 230 MB together. */
const parsedByNode = 64;

interface Turns {
  handled: number;
  /** Whether the next request has its turn soon. */
  isDue: boolean;
  /** The handlers of the next requests, which arrived together. */
  readonly waiting: (() => void)[];
}

const turnsOf = new WeakMap<Duplex, Turns>();

/**
 * Handles few requests of each connection at a time. While others wait, nothing more is read from the connection. Node answers in the order of
 * the requests, and keeps the answers until the client reads them. So a client that sends requests and reads nothing could fill the memory.
 * Requests that wait when the connection closes are not handled.
 *
 * A turn of the event loop begins at most one request that has waited. Many answers are ready at once, so those to one connection would
 * otherwise delay all others.
 */
export function handleInTurn(request: IncomingMessage, response: ServerResponse, handle: () => void): void {
  const { socket } = request;
  const turns = turnsOf.get(socket) ?? createTurns(socket);
  const take = (): void => {
    turns.handled += 1;
    response.once('close', () => {
      turns.handled -= 1;
      makeDue(socket, turns);
    });
    handle();
  };
  if (turns.handled === 0 && turns.waiting.length === 0) {
    take();
    return;
  }
  turns.waiting.push(take);
  socket.pause();
  makeDue(socket, turns);
}

/**
 * Bounds what the connections of an HTTP/1.1 listener parse at once. Node parses each read as a whole. A read of 64 KiB with the shortest
 * requests takes 20 ms and 3 MB. While many connections are open, each further one is parsed in pieces, which costs more. Call the function
 * for each connection when Node's server has begun to serve it.
 */
export function boundParsing(): (socket: Socket) => void {
  let open = 0;
  return (socket) => {
    open += 1;
    socket.once('close', () => (open -= 1));
    if (open > parsedByNode) readInPieces(socket);
  };
}

/** Parses few bytes of a connection at a time, and none while its requests wait. */
function readInPieces(socket: Socket): void {
  const [parse] = socket.listeners('data') as ((bytes: Buffer) => void)[];
  if (parse === undefined)
    throw new Error('this version of Node does not read a connection by its data events');
  socket.removeListener('data', parse);
  socket.on('data', (bytes: Buffer) => {
    for (let at = 0; at < bytes.length; at += pieceBytes) {
      // Nothing more can be answered, and Node may have freed the parser.
      if (!socket.writable) return;
      const { waiting = [] } = turnsOf.get(socket) ?? {};
      if (waiting.length > 0) {
        // Node resumes the connection after each request that it has parsed.
        socket.pause();
        socket.unshift(bytes.subarray(at));
        return;
      }
      parse(bytes.subarray(at, at + pieceBytes));
    }
  });
}

function makeDue(socket: Duplex, turns: Turns): void {
  if (turns.isDue || turns.handled >= maxAtOnce || turns.waiting.length === 0) return;
  turns.isDue = true;
  setImmediate(takeNext, socket, turns);
}

function takeNext(socket: Duplex, turns: Turns): void {
  const { waiting } = turns;
  turns.isDue = false;
  // After an answer with `Connection: close`, the answer to another request could not be sent.
  if (!socket.writable) waiting.length = 0;
  const next = waiting.shift();
  if (next === undefined) return;
  if (waiting.length === 0) socket.resume();
  next();
  makeDue(socket, turns);
}

function createTurns(socket: Duplex): Turns {
  const turns: Turns = { handled: 0, isDue: false, waiting: [] };
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
