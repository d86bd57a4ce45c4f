import type { EventEmitter } from 'node:events';
import type { TLSSocket } from 'node:tls';
import { limitLines } from '../line-limit.ts';
import type { Logger } from '../logger.ts';

/**
 * Logs the connections whose handshake failed, and those whose client certificate is not accepted, with the reason. Anyone can cause both,
 * so each reason is logged at most once a minute.
 */
export function watchHandshakes(
  server: EventEmitter,
  { logger, listener }: { logger: Logger; listener: string },
): void {
  const logFailed = limitLines((facts: object, count) => {
    logger.warn(
      { ...facts, listener, count },
      "a TLS handshake failed: the client refused this server's certificate, did not speak TLS, or disconnected",
    );
  });
  const logRefused = limitLines((facts: object, count) => {
    logger.warn(
      { ...facts, listener, count },
      'the certificate of a client is not valid here; give the client one that an authority in GATEHOUSE_TLS_CA_FILE has issued',
    );
  });
  server.on('tlsClientError', (error: NodeJS.ErrnoException, socket: TLSSocket) => {
    logFailed(error.code ?? '', { err: error, peer: socket.remoteAddress });
  });
  server.on('secureConnection', (socket: TLSSocket) => {
    const shown = socket.getPeerCertificate();
    // An empty object when the client showed none.
    if (socket.authorized || !('subject' in shown)) return;
    const reason = String(socket.authorizationError);
    logRefused(reason, {
      peer: socket.remoteAddress,
      subject: shown.subject,
      names: shown.subjectaltname,
      expires: shown.valid_to,
      reason,
    });
  });
}
