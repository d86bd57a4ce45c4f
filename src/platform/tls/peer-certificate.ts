import { TLSSocket } from 'node:tls';
import { createContextKey } from '@connectrpc/connect';

/** The certificate of the caller's connection, or the reason why it has no accepted one. */
export type PeerCertificate =
  /** A connection without TLS, or whose client showed no certificate that one of our authorities signed. */
  | { readonly isVerified: false; readonly hasExpired: boolean }
  /** `uris`: those in its subjectAltName. */
  | { readonly isVerified: true; readonly uris: readonly string[] };

export const noPeerCertificate: PeerCertificate = { isVerified: false, hasExpired: false };
export const expiredPeerCertificate: PeerCertificate = { isVerified: false, hasExpired: true };

/** Set before the guard looks at a call. */
export const peerCertificateKey = createContextKey<PeerCertificate>(noPeerCertificate, {
  description: 'peer certificate',
});

const verified = new WeakMap<object, PeerCertificate>();

/** The certificate of the client of a connection, which may be one without TLS. */
export const peerOfSocket = (socket: unknown): PeerCertificate =>
  socket instanceof TLSSocket ? peerCertificateOf(socket) : noPeerCertificate;

/** Whether the client of a connection showed a certificate that is refused because it has expired. */
export const hasExpiredCertificate = (socket: TLSSocket): boolean =>
  !socket.authorized && String(socket.authorizationError) === 'CERT_HAS_EXPIRED';

/** The certificate that the client of a connection showed. It is read once for each connection. */
function peerCertificateOf(socket: TLSSocket): PeerCertificate {
  const known = verified.get(socket);
  if (known !== undefined) return known;
  const found = socket.authorized
    ? verifiedPeer(socket.getPeerCertificate().subjectaltname)
    : hasExpiredCertificate(socket)
      ? expiredPeerCertificate
      : noPeerCertificate;
  verified.set(socket, found);
  return found;
}

/** A verified certificate with this subjectAltName, in Node's notation. */
export const verifiedPeer = (subjectAltName: string | undefined): PeerCertificate => ({
  isVerified: true,
  uris: urisOf(subjectAltName ?? ''),
});

/** One name of a subjectAltName. Node writes a value that contains a comma or a quote as a JSON string, so that no value can pose as two names. */
const name = /([A-Za-z ]+):("(?:[^"\\]|\\.)*"|[^,"]*)(?:, |$)/y;

function urisOf(subjectAltName: string): readonly string[] {
  const uris: string[] = [];
  name.lastIndex = 0;
  while (name.lastIndex < subjectAltName.length) {
    const [, kind, value = ''] = name.exec(subjectAltName) ?? [];
    if (kind === undefined) return [];
    if (kind === 'URI') uris.push(value);
  }
  return uris;
}

/** How a server treats the certificates of its clients. */
export interface PeerRules {
  /** Whether every call needs a certificate that one of our authorities signed. */
  readonly isRequired: boolean;
  /** The SPIFFE trust domain whose certificates name a role. Without it, certificates name none. */
  readonly trustDomain: string | undefined;
  /** The roles that a certificate may name. */
  readonly roles: readonly string[];
}

/** The role that a certificate names; undefined when it names none. Or a sentence with the reason why it is refused. */
export type CertifiedRole = { readonly role: string | undefined } | { readonly refused: string };

/** Reads the role from `spiffe://<trust domain>/gatehouse/<role>`. */
export function roleOfCertificate(
  peer: PeerCertificate,
  { isRequired, trustDomain, roles }: PeerRules,
): CertifiedRole {
  if (!peer.isVerified)
    return isRequired
      ? {
          refused: peer.hasExpired
            ? 'this server requires a valid client certificate, and that of the connection has expired: renew it'
            : 'this server requires a client certificate, and the connection has no valid one: send one that has ' +
              "not expired and is signed by an authority in the server's GATEHOUSE_TLS_CA_FILE; the server's log has the reason",
        }
      : { role: undefined };
  const ids = peer.uris.filter((uri) => /^spiffe:/i.test(uri));
  const [id = ''] = ids;
  if (trustDomain === undefined || ids.length === 0) return { role: undefined };
  const form = `spiffe://${trustDomain}/gatehouse/<role> with one of the roles ${roles.join(', ')}`;
  if (ids.length > 1)
    return { refused: `the client certificate has ${ids.length} SPIFFE ids; it needs exactly one: ${form}` };
  const prefix = `spiffe://${trustDomain}/`;
  if (!id.startsWith(prefix))
    return {
      refused: `the client certificate is of another trust domain (${id}); this server accepts ${form}`,
    };
  const role = roles.find((each) => id === `${prefix}gatehouse/${each}`);
  return role === undefined
    ? { refused: `the client certificate names no role of Gatehouse (${id}); issue one with the URI ${form}` }
    : { role };
}
