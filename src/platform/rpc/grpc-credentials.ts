import { ServerCredentials, credentials, experimental } from '@grpc/grpc-js';
import type { SecureContextOptions } from 'node:tls';
import type { ChannelCredentials } from '@grpc/grpc-js';
import type { CertificateFiles } from '../tls/certificate-files.ts';
import { http2Tls } from '../tls/server-tls.ts';

type Provider = Parameters<typeof experimental.createCertificateProviderServerCredentials>[0];
type CaListener = Parameters<Provider['addCaCertificateListener']>[0];
type OwnListener = Parameters<Provider['addIdentityCertificateListener']>[0];

/** Gives grpc-js the certificates of the moment. Its own provider takes files that do not fit together. */
function providerOf(files: CertificateFiles): Provider {
  const removers = new Map<unknown, () => void>();
  const follow = (listener: unknown, give: () => void): void => {
    removers.set(listener, files.onChange(give));
    // Later, because grpc-js adds a listener before it has constructed the object that the listener changes.
    queueMicrotask(give);
  };
  const unfollow = (listener: unknown): void => {
    removers.get(listener)?.();
    removers.delete(listener);
  };
  return {
    addCaCertificateListener: (listener: CaListener) =>
      follow(listener, () => listener({ caCertificate: files.current().ca })),
    removeCaCertificateListener: unfollow,
    addIdentityCertificateListener: (listener: OwnListener) =>
      follow(listener, () => {
        const { own } = files.current();
        listener(own === undefined ? null : { certificate: own.certificate, privateKey: own.key });
      }),
    removeIdentityCertificateListener: unfollow,
  };
}

/** Credentials of a client. Each new connection uses the certificates of its time. Without files, there is no TLS. */
export function channelCredentials(files: CertificateFiles | undefined): ChannelCredentials {
  if (files === undefined) return credentials.createInsecure();
  const provider = providerOf(files);
  return experimental.createCertificateProviderChannelCredentials(
    provider,
    files.current().own === undefined ? null : provider,
  );
}

/**
 * Credentials of a server, which asks clients for a certificate if `asksClients`. The handshake accepts every one, because Node
 * would otherwise close the connection without telling the client why. The guard refuses the calls, with the reason.
 */
export function serverCredentials(
  files: CertificateFiles | undefined,
  { asksClients }: { readonly asksClients: boolean },
): ServerCredentials {
  if (files === undefined) return ServerCredentials.createInsecure();
  const provider = providerOf(files);
  return withHttp2Tls(
    experimental.createCertificateProviderServerCredentials(provider, asksClients ? provider : null, false),
  );
}

/**
 * grpc-js has no public option for ciphers that lasts until the next certificate, so its own method is extended.
 * @throws when this version has no such method
 */
function withHttp2Tls(made: ServerCredentials): ServerCredentials {
  const optionsOf: unknown = Reflect.get(made, 'calculateSecureContextOptions');
  if (typeof optionsOf !== 'function')
    throw new Error('this version of grpc-js does not keep its TLS options where they are expected');
  const calculateSecureContextOptions = (): SecureContextOptions | null => {
    const options = optionsOf.call(made) as SecureContextOptions | null;
    return options && { ...options, ...http2Tls };
  };
  return Object.assign(made, { calculateSecureContextOptions });
}
