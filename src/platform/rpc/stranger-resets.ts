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
 * Closes the connection of a stranger that opens and resets streams (CVE-2023-44487), before the streams reach the server. A call with a
 * known token or certificate makes its connection known. Then only `streamResetLimits` apply, which are far higher.
 */
export function limitStrangerResets(
  server: EventEmitter,
  {
    isKnownCaller,
    logger,
    listener,
  }: { readonly isKnownCaller: IsKnownCaller; readonly logger: Logger; readonly listener: string },
): void {
  const logClosed = limitLines((facts: object, count) => {
    logger.warn(
      { ...facts, listener, count },
      `a connection was closed, because its peer has no known token and reset ${maxResets} calls`,
    );
  });
  server.on('session', (session: ServerHttp2Session) => {
    const serve = session.listeners('stream');
    const pass = (...event: unknown[]): void => {
      for (const each of serve) Reflect.apply(each, session, event);
    };
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
      } else if (stream.closed) {
        countReset(stream);
        return;
      } else stream.once('close', () => countReset(stream));
      pass(stream, ...event);
    };
    session.removeAllListeners('stream');
    session.on('stream', admit);
  });
}
