import type { CertificateFiles } from './certificate-files.ts';
import type { PeerRules } from './peer-certificate.ts';

/** A connection is closed if its handshake has not ended after this time. */
export const handshakeTimeoutMs = 10_000;

/** The TLS of a process that serves RPCs. */
export interface ServerTls {
  readonly files: CertificateFiles;
  /** Whether the server requests a certificate from its clients. */
  readonly asksClients: boolean;
  readonly peers: PeerRules;
}
