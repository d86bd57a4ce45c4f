import { roleOfCertificate } from '../tls/peer-certificate.ts';
import type { PeerCertificate, PeerRules } from '../tls/peer-certificate.ts';
import { authenticateService } from './service-tokens.ts';
import type { ServiceTokens } from './service-tokens.ts';

/** Whether a call has a known service token, or its connection a client certificate that names a role. */
export type IsKnownCaller = (authorization: string | null, peer: PeerCertificate) => boolean;

/**
 * The largest message of an unknown caller. The guard refuses a call only after its message was decoded. Decoding 4 MiB of
 * tiny items takes seconds and hundreds of MiB, during which the process answers nobody.
 */
export const maxUnknownCallerBytes = 4 * 1024;

/** What a refused caller must do. */
export const unknownCallerAdvice =
  'send "authorization: Bearer <service token>" with a token this server knows; ' +
  `without one, a message may have at most ${maxUnknownCallerBytes} bytes`;

export function createIsKnownCaller(tokens: ServiceTokens, peers: PeerRules | undefined): IsKnownCaller {
  return (authorization, peer) => {
    if (authenticateService(tokens, authorization) !== undefined) return true;
    if (peers === undefined) return false;
    const certified = roleOfCertificate(peer, peers);
    return 'role' in certified && certified.role !== undefined;
  };
}
