import { checkServerIdentity } from 'node:tls';
import type { ConnectionOptions } from 'node:tls';

/** The certificate of a server that this process connects to, such as PostgreSQL. */
export interface ServerCertificate {
  /** When the certificate of the newest connection expires, in milliseconds since 1970. Undefined before the first connection with TLS. */
  readonly expiryMs: () => number | undefined;
  /** Makes another connection and closes it, because an open one may be older than the server's certificate. Never fails. */
  readonly readAgain: () => Promise<void>;
}

/**
 * Changes the options of a client so that the certificate of each later connection is remembered. Node passes it to `checkServerIdentity`
 * after it has checked the authority.
 * @returns when the certificate of the newest connection expires
 */
export function rememberServerCertificate(
  options: Pick<ConnectionOptions, 'checkServerIdentity'>,
): ServerCertificate['expiryMs'] {
  const check = options.checkServerIdentity ?? checkServerIdentity;
  let expiryMs: number | undefined;
  options.checkServerIdentity = (host, certificate) => {
    expiryMs = Date.parse(certificate.valid_to);
    return check(host, certificate);
  };
  return () => expiryMs;
}
