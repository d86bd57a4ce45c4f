import type { ConnectionOptions } from 'node:tls';
import type { Logger } from '../logger.ts';
import { SettingsError } from '../settings/read-settings.ts';
import { openCertificateFiles } from '../tls/certificate-files.ts';
import type { CertificateFiles } from '../tls/certificate-files.ts';
import { isLoopback, warnOfPlaintext } from '../tls/plaintext.ts';

/** The TLS of the connections to a database. */
export interface DatabaseTls {
  /** The options for the driver, which reads their members at each connection. Undefined without TLS. */
  readonly ssl: ConnectionOptions | undefined;
  /** Stops reading files. */
  readonly stop: () => void;
}

const remedy =
  'write ?sslmode=verify-full in the URL of the database, and name its authority with GATEHOUSE_TLS_CA_FILE or sslrootcert';

/**
 * Reads `sslmode`, `sslrootcert`, `sslcert` and `sslkey` of a database URL, with the meaning that PostgreSQL's own clients give
 * them. If the URL names no file, the process's own files count. Every mode that protects less than it seems is logged.
 * @throws SettingsError for parameters that cannot be used
 */
export function databaseTls(
  url: string,
  files: CertificateFiles | undefined,
  logger: Logger,
  now: () => Date,
): DatabaseTls {
  const { hostname, searchParams, password } = new URL(url);
  const given = (name: string): string | undefined => searchParams.get(name) ?? undefined;
  const [root, certificate, key] = [given('sslrootcert'), given('sslcert'), given('sslkey')];
  const mode = given('sslmode') ?? (root === undefined ? 'disable' : 'verify-full');
  if (mode === 'disable' || mode === 'allow' || mode === 'prefer') {
    if (mode !== 'disable')
      logger.warn(`sslmode=${mode} does not require TLS, and Gatehouse then connects without it; ${remedy}`);
    else if (password !== '')
      warnOfPlaintext(logger, { what: "the database's content", hosts: [hostname], remedy });
    return { ssl: undefined, stop: () => undefined };
  }
  requireFilesTogether({ root, certificate, key });
  const opened =
    root === undefined || root === 'system'
      ? undefined
      : openCertificateFiles({
          paths: {
            ca: root,
            own: certificate === undefined || key === undefined ? undefined : { certificate, key },
          },
          logger,
          now,
        });
  const used = opened ?? (root === 'system' ? undefined : files);
  const isVerified = mode !== 'require' || root !== undefined;
  if (!isVerified && !isLoopback(hostname))
    logger.warn(
      { hosts: [hostname] },
      `sslmode=require encrypts, but does not verify the certificate of the server, so another server can pose as it; ${remedy}`,
    );
  const ssl: ConnectionOptions = {
    // The name to check. The driver itself gives none for an IP address.
    host: hostname.replace(/^\[|\]$/g, ''),
    minVersion: 'TLSv1.2',
    rejectUnauthorized: isVerified,
    ...(mode === 'verify-full' ? {} : { checkServerIdentity: () => undefined }),
  };
  return { ssl: used === undefined ? ssl : withFiles(ssl, used), stop: () => opened?.stop() };
}

/** @throws SettingsError for a file without another one that it needs */
function requireFilesTogether({
  root,
  certificate,
  key,
}: Record<'root' | 'certificate' | 'key', string | undefined>) {
  if ((certificate === undefined) !== (key === undefined))
    throw new SettingsError(
      'sslcert and sslkey in the URL of the database belong together: give both, or neither',
    );
  if (certificate !== undefined && (root === undefined || root === 'system'))
    throw new SettingsError(
      'sslcert in the URL of the database needs sslrootcert, the file of its authority',
    );
}

/** A certificate is shown only if there is one. */
function withFiles(ssl: ConnectionOptions, files: CertificateFiles): ConnectionOptions {
  const own = files.current().own === undefined ? [] : (['cert', 'key'] as const);
  for (const name of ['ca', ...own] as const)
    Object.defineProperty(ssl, name, {
      enumerable: true,
      configurable: true,
      get: () => {
        const { ca, own: pair } = files.current();
        return { ca, cert: pair?.certificate, key: pair?.key }[name];
      },
    });
  return ssl;
}
