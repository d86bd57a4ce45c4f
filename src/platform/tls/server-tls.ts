import { constants } from 'node:crypto';
import type { SecureContextOptions } from 'node:tls';
import type { CertificateFiles } from './certificate-files.ts';
import type { PeerRules } from './peer-certificate.ts';

/** A connection is closed if its handshake has not ended after this time. */
export const handshakeTimeoutMs = 10_000;

/**
 * HTTP/2 forbids all other ciphers of TLS 1.2, which Node offers too, and renegotiation (RFC 9113, section 9.2 and appendix A). A handshake
 * costs the server more than its client.
 */
export const http2Tls: SecureContextOptions = {
  ciphers:
    'TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256:ECDHE+AESGCM:ECDHE+CHACHA20',
  secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
};

/** The TLS of a process that serves RPCs. */
export interface ServerTls {
  readonly files: CertificateFiles;
  /** Whether the server requests a certificate from its clients. */
  readonly asksClients: boolean;
  readonly peers: PeerRules;
}
