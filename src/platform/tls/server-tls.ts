import type { CertificateFiles } from './certificate-files.ts';
import type { PeerRules } from './peer-certificate.ts';

/** The TLS of a process that serves RPCs. */
export interface ServerTls {
  readonly files: CertificateFiles;
  /** Whether clients are asked for a certificate. */
  readonly asksClients: boolean;
  readonly peers: PeerRules;
}
