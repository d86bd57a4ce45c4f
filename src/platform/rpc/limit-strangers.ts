import type { EventEmitter } from 'node:events';
import { constants } from 'node:http2';
import type { IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream } from 'node:http2';
import { limitLines } from '../line-limit.ts';
import type { Logger } from '../logger.ts';
import { peerOfSocket } from '../tls/peer-certificate.ts';
import type { IsKnownCaller } from './known-caller.ts';

/** Enough for a health checker whose calls reach their deadline. It connects again. */
const maxResets = 100;
/** An open call needs about 10 kB, and a stranger may leave it open for ever. */
export const maxOpen = { ofConnection: 100, ofAll: 1_000 };

export interface StrangerLimits {
  readonly isKnownCaller: IsKnownCaller;
  /** The calls that a known peer may have open on one connection. */
  readonly maxConcurrentStreams: number;
  readonly logger: Logger;
  readonly listener: string;
}

/**
 * Limits the calls of strangers over HTTP/2, before they reach the server. A stranger may have few calls open. All strangers
 * together may have few as well, except that each connection may have one, so that a flood does not hide a health checker. The connection of
 * a stranger that opens and resets calls is closed (CVE-2023-44487). A call with a known token or certificate makes its connection
 * known, which ends these limits. Then `streamResetLimits` apply, which are far higher.
 */
export function limitStrangers(
  server: EventEmitter,
  { isKnownCaller, maxConcurrentStreams, logger, listener }: StrangerLimits,
): void {
  const logClosed = limitLines((facts: object, count) => {
    logger.warn(
      { ...facts, listener, count },
      `a connection was closed, because its peer has no known token and reset ${maxResets} calls`,
    );
  });
  let openOfAll = 0;
  server.on('session', (session: ServerHttp2Session) => {
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
      session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM);
      session.destroy();
    };
    const admit = (stream: ServerHttp2Stream, ...event: unknown[]): void => {
      const [headers] = event as [IncomingHttpHeaders];
      if (session.destroyed) return;
      if (isKnownCaller(headers.authorization ?? null, peerOfSocket(session.socket))) {
        session.off('stream', admit);
        session.on('stream', pass);
        session.settings({ maxConcurrentStreams });
      } else if (stream.closed) {
        countReset(stream);
        return;
      } else if (open > 0 && openOfAll >= maxOpen.ofAll) {
        stream.on('error', () => undefined);
        stream.close(constants.NGHTTP2_REFUSED_STREAM);
        countReset(stream);
        return;
      } else {
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
