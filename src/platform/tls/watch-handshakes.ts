import type { EventEmitter } from 'node:events';
import type { TLSSocket } from 'node:tls';
import { limitLines } from '../line-limit.ts';
import type { Logger } from '../logger.ts';
import { hasExpiredCertificate } from './peer-certificate.ts';

/** Controls, and characters that change the direction of writing. JSON keeps C1 controls, which some terminals obey. */
const unprintable = /[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu;

const maxSubjectText = 256;

/** The subject of a certificate, which anybody can make, for a log. */
const printable = (subject: object): Record<string, string> =>
  Object.fromEntries(
    Object.entries(subject).map(([name, value]) => [
      name,
      String(value).slice(0, maxSubjectText).replace(unprintable, '?'),
    ]),
  );

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
  const logExpired = limitLines((facts: object, count) => {
    logger.warn({ ...facts, listener, count }, 'the certificate of a client has expired; renew it');
  });
  server.on('tlsClientError', (error: NodeJS.ErrnoException, socket: TLSSocket) => {
    logFailed(error.code ?? '', { err: error, peer: socket.remoteAddress });
  });
  server.on('secureConnection', (socket: TLSSocket) => {
    const shown = socket.getPeerCertificate();
    // An empty object when the client showed none.
    if (socket.authorized || !('subject' in shown)) return;
    const reason = String(socket.authorizationError);
    const log = hasExpiredCertificate(socket) ? logExpired : logRefused;
    log(reason, {
      peer: socket.remoteAddress,
      subject: printable(shown.subject),
      names: shown.subjectaltname,
      expires: shown.valid_to,
      reason,
    });
  });
}
