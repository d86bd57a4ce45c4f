import type { EventEmitter } from 'node:events';
import { constants } from 'node:http2';
import type { IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream } from 'node:http2';
import { limitLines } from '../line-limit.ts';
import type { Logger } from '../logger.ts';
import { peerOfSocket } from '../tls/peer-certificate.ts';
import type { IsKnownCaller } from './known-caller.ts';

/** Enough for a health checker whose calls reach their deadline. It connects again. */
const maxResets = 100;
/**
 * The limits on open calls of unknown callers and on their connections. An open call needs about 10 kB and a connection 21 kB, and such a
 * caller may leave both open for ever.
 */
export const maxOpen = { ofConnection: 100, ofAll: 1_000, connections: 1_000 };
/** How often the calls that Node itself has refused are counted. */
const countRefusedEveryMs = 100;

export interface UnknownCallerLimits {
  readonly isKnownCaller: IsKnownCaller;
  /** The calls that a known peer may have open on one connection. */
  readonly maxConcurrentStreams: number;
  readonly logger: Logger;
  readonly listener: string;
}

/**
 * Limits the calls of unknown callers over HTTP/2, before they reach the server. One caller may have few calls open, and so may all of them
 * together. But each connection may always have one call, so that a flood does not hide a health checker. The connection of an
 * unknown caller that opens and resets calls is closed (CVE-2023-44487), and so is one with many calls whose headers Node refuses. If
 * unknown callers have too many connections, the one whose latest call is the oldest is closed. A call with a known token or certificate
 * makes its connection known, which ends these limits. Then `streamResetLimits` apply, which are far higher.
 */
export function limitUnknownCallers(
  server: EventEmitter,
  { isKnownCaller, maxConcurrentStreams, logger, listener }: UnknownCallerLimits,
): void {
  const logClosed = limitLines((facts: object, count) => {
    logger.warn(
      { ...facts, listener, count },
      `a connection was closed, because its peer has no known token and reset ${maxResets} calls`,
    );
  });
  const logTooMany = limitLines((facts: object, count) => {
    logger.warn(
      { ...facts, listener, count },
      `a connection was closed, because more than ${maxOpen.connections} connections had no known token, and this one had been silent the longest`,
    );
  });
  const logRefused = limitLines((facts: object, count) => {
    logger.warn(
      { ...facts, listener, count },
      `a connection was closed, because its peer has no known token, and ${maxResets} of its calls had too many headers`,
    );
  });
  let openOfAll = 0;
  /** Each with the number of its calls that Node has handed over. The connection with the oldest latest call comes first. */
  const unknownSessions = new Map<ServerHttp2Session, () => number>();
  const countConnection = (session: ServerHttp2Session, handedOver: () => number): void => {
    unknownSessions.delete(session);
    unknownSessions.set(session, handedOver);
    const [oldest] = unknownSessions.keys();
    if (unknownSessions.size <= maxOpen.connections || oldest === undefined) return;
    unknownSessions.delete(oldest);
    if (oldest.destroyed) return;
    logTooMany('', { peer: oldest.socket.remoteAddress });
    closeAtOnce(oldest);
  };
  // Node resets a call with too many headers itself, without an event. Only the number of its stream is known.
  const closeRefused = (): void => {
    for (const [session, handedOver] of unknownSessions) {
      const { lastProcStreamID = 0 } = session.state;
      // Clients number their calls 1, 3, 5 (RFC 9113, section 5.1.1).
      if ((lastProcStreamID + 1) / 2 - handedOver() < maxResets || session.destroyed) continue;
      logRefused('', { peer: session.socket.remoteAddress });
      closeAtOnce(session);
    }
  };
  const timer = setInterval(closeRefused, countRefusedEveryMs).unref();
  server.once('close', () => clearInterval(timer));
  server.on('session', (session: ServerHttp2Session) => {
    let calls = 0;
    const handedOver = (): number => calls;
    countConnection(session, handedOver);
    session.once('close', () => unknownSessions.delete(session));
    const serve = session.listeners('stream');
    const pass = (...event: unknown[]): void => {
      for (const each of serve) Reflect.apply(each, session, event);
    };
    let open = 0;
    let resets = 0;
    const countReset = ({ rstCode }: ServerHttp2Stream): void => {
      if (rstCode === constants.NGHTTP2_NO_ERROR || session.destroyed) return;
      resets += 1;
      if (resets < maxResets) return;
      logClosed('', { peer: session.socket.remoteAddress });
      closeAtOnce(session);
    };
    const admit = (stream: ServerHttp2Stream, ...event: unknown[]): void => {
      calls += 1;
      const [headers] = event as [IncomingHttpHeaders];
      // A session that fails gives its error to all its calls. The error of a call that reaches no handler would end the process.
      stream.on('error', () => undefined);
      if (session.destroyed) return;
      if (isKnownCaller(headers.authorization ?? null, peerOfSocket(session.socket))) {
        unknownSessions.delete(session);
        session.off('stream', admit);
        session.on('stream', pass);
        session.settings({ maxConcurrentStreams });
      } else if (stream.closed) {
        countReset(stream);
        return;
      } else if (open > 0 && openOfAll >= maxOpen.ofAll) {
        stream.close(constants.NGHTTP2_REFUSED_STREAM);
        countReset(stream);
        return;
      } else {
        countConnection(session, handedOver);
        open += 1;
        openOfAll += 1;
        stream.once('close', () => {
          open -= 1;
          openOfAll -= 1;
          countReset(stream);
        });
      }
      pass(stream, ...event);
    };
    session.removeAllListeners('stream');
    session.on('stream', admit);
  });
}

function closeAtOnce(session: ServerHttp2Session): void {
  session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM);
  session.destroy();
}
