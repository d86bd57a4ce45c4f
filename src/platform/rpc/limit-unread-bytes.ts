import type { EventEmitter } from 'node:events';
import { constants } from 'node:http2';
import type { ServerHttp2Session, ServerHttp2Stream } from 'node:http2';
import type { Logger } from '../logger.ts';

/** The bytes of answers of all connections that wait for their clients. An answer has up to 4 MiB. */
const maxUnreadBytes = 128 * 1024 * 1024;
const checkMs = 500;

export interface LimitUnreadBytesOptions {
  readonly logger: Logger;
  /** The name of the listener in the log. */
  readonly listener: string;
  readonly maxBytes?: number;
}

/**
 * Disconnects the client with the most unread bytes while the answers of all clients exceed a limit. HTTP/2 lets a client send calls and read
 * nothing, without a time limit, and each answer stays in memory until it is read.
 */
export function limitUnreadBytes(
  server: EventEmitter,
  { logger, listener, maxBytes = maxUnreadBytes }: LimitUnreadBytesOptions,
): void {
  const streamsOf = new Map<ServerHttp2Session, Set<ServerHttp2Stream>>();
  server.on('session', (session: ServerHttp2Session) => {
    const streams = new Set<ServerHttp2Stream>();
    streamsOf.set(session, streams);
    session.once('close', () => streamsOf.delete(session));
    session.prependListener('stream', (stream: ServerHttp2Stream) => {
      streams.add(stream);
      stream.once('close', () => streams.delete(stream));
    });
  });
  const check = (): void => {
    const unread = [...streamsOf]
      .filter(([session]) => !session.destroyed)
      .map(([session, streams]) => ({ session, bytes: unreadOf(streams) }))
      .toSorted((a, b) => b.bytes - a.bytes);
    let total = unread.reduce((sum, { bytes }) => sum + bytes, 0);
    for (const { session, bytes } of unread) {
      if (total <= maxBytes) return;
      logger.warn(
        { listener, peer: session.socket.remoteAddress, bytes },
        'a client that does not read its answers was disconnected',
      );
      session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM);
      session.destroy();
      total -= bytes;
    }
  };
  const timer = setInterval(check, checkMs).unref();
  server.once('close', () => clearInterval(timer));
}

function unreadOf(streams: ReadonlySet<ServerHttp2Stream>): number {
  let bytes = 0;
  for (const { writableLength } of streams) bytes += writableLength;
  return bytes;
}
