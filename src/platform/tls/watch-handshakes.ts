import type { EventEmitter } from 'node:events';
import type { TLSSocket } from 'node:tls';
import type { Logger } from '../logger.ts';

/** Logs the connections whose handshake failed, and those whose client certificate is not accepted, with the reason. */
export function watchHandshakes(
  server: EventEmitter,
  { logger, listener }: { logger: Logger; listener: string },
): void {
  server.on('tlsClientError', (error: Error, socket: TLSSocket) => {
    logger.warn(
      { err: error, listener, peer: socket.remoteAddress },
      "a TLS handshake failed: the client refused this server's certificate, did not speak TLS, or disconnected",
    );
  });
  server.on('secureConnection', (socket: TLSSocket) => {
    const shown = socket.getPeerCertificate();
    // An empty object when the client showed none.
    if (socket.authorized || !('subject' in shown)) return;
    logger.warn(
      {
        listener,
        peer: socket.remoteAddress,
        subject: shown.subject,
        names: shown.subjectaltname,
        expires: shown.valid_to,
        reason: String(socket.authorizationError),
      },
      'the certificate of a client is not valid here; give the client one that an authority in GATEHOUSE_TLS_CA_FILE has issued',
    );
  });
}
