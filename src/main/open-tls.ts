import { roles } from '../contract/roles.ts';
import type { Logger } from '../platform/logger.ts';
import { openCertificateFiles } from '../platform/tls/certificate-files.ts';
import type { CertificateFiles, CertificatePaths } from '../platform/tls/certificate-files.ts';
import { hostOf, warnOfPlaintext } from '../platform/tls/plaintext.ts';
import type { ServerTls } from '../platform/tls/server-tls.ts';
import { certificatePathsOf, serverCertificatePathsOf } from '../platform/tls/tls-settings.ts';
import type { TlsConfig, TlsServerConfig } from '../platform/tls/tls-settings.ts';
import { exitForSettings } from './read-settings.ts';

const remedy =
  'set GATEHOUSE_TLS_CA_FILE, GATEHOUSE_TLS_CERTIFICATE_FILE and GATEHOUSE_TLS_KEY_FILE for every process';

/**
 * The certificates of a process that only calls `addresses`; undefined without TLS. Ends the process if they cannot be used.
 */
export function openTls(
  config: TlsConfig,
  addresses: readonly string[],
  logger: Logger,
): CertificateFiles | undefined {
  const files = openFiles(() => certificatePathsOf(config), logger);
  if (files === undefined) warnOfTokens(addresses, logger);
  return files;
}

/**
 * The TLS of a process that serves RPCs, and calls `addresses`; undefined without TLS. Ends the process if its files cannot be
 * used.
 */
export function openServerTls(
  config: TlsServerConfig,
  addresses: readonly string[],
  logger: Logger,
): ServerTls | undefined {
  const files = openFiles(() => serverCertificatePathsOf(config), logger);
  const { GATEHOUSE_TLS_CLIENT_CERTIFICATES: clients, GATEHOUSE_TLS_TRUST_DOMAIN: trustDomain } = config;
  if (files === undefined) {
    warnOfTokens(addresses, logger);
    return undefined;
  }
  return {
    files,
    asksClients: clients !== 'none',
    peers: { isRequired: clients === 'required', trustDomain, roles },
  };
}

function openFiles(
  pathsOf: () => CertificatePaths | undefined,
  logger: Logger,
): CertificateFiles | undefined {
  try {
    const paths = pathsOf();
    return paths && openCertificateFiles({ paths, logger, now: () => new Date() });
  } catch (error) {
    return exitForSettings(error);
  }
}

function warnOfTokens(addresses: readonly string[], logger: Logger): void {
  warnOfPlaintext(logger, { what: 'the service token', hosts: addresses.map(hostOf), remedy });
}
