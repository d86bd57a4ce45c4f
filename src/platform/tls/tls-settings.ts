import { EnvError, makeExactValidator, str } from 'envalid';
import { SettingsError } from '../settings/read-settings.ts';
import type { CertificatePaths } from './certificate-files.ts';

const trustDomain = makeExactValidator<string>((input) => {
  if (!/^[a-z0-9._-]{1,255}$/.test(input))
    throw new EnvError(
      'must be a SPIFFE trust domain, such as pay.example: a-z, 0-9, dots, hyphens and underscores',
    );
  return input;
});

/** The TLS settings of every process, as a client. */
export const tlsSettings = {
  GATEHOUSE_TLS_CA_FILE: str({ default: undefined }),
  GATEHOUSE_TLS_CERTIFICATE_FILE: str({ default: undefined }),
  GATEHOUSE_TLS_KEY_FILE: str({ default: undefined }),
};

/** The additional TLS settings of a process that serves RPCs. */
export const tlsServerSettings = {
  ...tlsSettings,
  GATEHOUSE_TLS_CLIENT_CERTIFICATES: str({ choices: ['none', 'optional', 'required'], default: 'none' }),
  GATEHOUSE_TLS_TRUST_DOMAIN: trustDomain({ default: undefined }),
};

export interface TlsConfig {
  readonly GATEHOUSE_TLS_CA_FILE: string | undefined;
  readonly GATEHOUSE_TLS_CERTIFICATE_FILE: string | undefined;
  readonly GATEHOUSE_TLS_KEY_FILE: string | undefined;
}

export interface TlsServerConfig extends TlsConfig {
  readonly GATEHOUSE_TLS_CLIENT_CERTIFICATES: 'none' | 'optional' | 'required';
  readonly GATEHOUSE_TLS_TRUST_DOMAIN: string | undefined;
}

/** The files of a process; undefined without TLS. @throws SettingsError when only some of the files are named */
export function certificatePathsOf(config: TlsConfig): CertificatePaths | undefined {
  const {
    GATEHOUSE_TLS_CA_FILE: ca,
    GATEHOUSE_TLS_CERTIFICATE_FILE: certificate,
    GATEHOUSE_TLS_KEY_FILE: key,
  } = config;
  if ((certificate === undefined) !== (key === undefined))
    throw new SettingsError(
      'GATEHOUSE_TLS_CERTIFICATE_FILE and GATEHOUSE_TLS_KEY_FILE belong together: set both, or neither',
    );
  if (ca === undefined) {
    if (certificate === undefined) return undefined;
    throw new SettingsError(
      'GATEHOUSE_TLS_CA_FILE is not set: name the file with the certificates of the authorities that this process trusts',
    );
  }
  return { ca, own: certificate === undefined || key === undefined ? undefined : { certificate, key } };
}

/** Like `certificatePathsOf`. A server that has TLS needs its own certificate. @throws SettingsError */
export function serverCertificatePathsOf(config: TlsServerConfig): CertificatePaths | undefined {
  const paths = certificatePathsOf(config);
  if (paths !== undefined && paths.own === undefined)
    throw new SettingsError(
      'GATEHOUSE_TLS_CERTIFICATE_FILE and GATEHOUSE_TLS_KEY_FILE are not set: with GATEHOUSE_TLS_CA_FILE, this server ' +
        'needs a certificate of its own',
    );
  if (config.GATEHOUSE_TLS_CLIENT_CERTIFICATES !== 'none' && paths === undefined)
    throw new SettingsError(
      'GATEHOUSE_TLS_CLIENT_CERTIFICATES has no effect without TLS: set GATEHOUSE_TLS_CA_FILE, ' +
        'GATEHOUSE_TLS_CERTIFICATE_FILE and GATEHOUSE_TLS_KEY_FILE too',
    );
  if (config.GATEHOUSE_TLS_TRUST_DOMAIN !== undefined && config.GATEHOUSE_TLS_CLIENT_CERTIFICATES === 'none')
    throw new SettingsError(
      'GATEHOUSE_TLS_TRUST_DOMAIN has no effect while GATEHOUSE_TLS_CLIENT_CERTIFICATES is none: set that to optional or required',
    );
  return paths;
}
