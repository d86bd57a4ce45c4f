import { createHash, timingSafeEqual } from 'node:crypto';

/** The hashes of the tokens that a server accepts, so that its memory does not contain the tokens. */
export type ServiceTokens = readonly { readonly role: string; readonly hash: Buffer }[];

const minimumTokenLength = 24;
const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest();

/**
 * Reads `role:token,role:token` with the given roles. A role may have several tokens, so that one can be replaced without a
 * restart of all processes at once. Gives a sentence with the problem if the text has another form.
 */
export function parseServiceTokens(text: string, roles: readonly string[]): ServiceTokens | string {
  const tokens: { role: string; hash: Buffer }[] = [];
  for (const [index, entry] of text.split(',').entries()) {
    const [role = '', token = '', ...rest] = entry.trim().split(':');
    if (!roles.includes(role) || rest.length > 0)
      return `entry ${index + 1} must be role:token with one of the roles ${roles.join(', ')}`;
    if (!/^[\x21-\x7e]*$/.test(token))
      return `entry ${index + 1} has a token with characters that a header cannot carry; make one with: openssl rand -hex 32`;
    if (token.length < minimumTokenLength)
      return `entry ${index + 1} needs a token of at least ${minimumTokenLength} characters; make one with: openssl rand -hex 32`;
    const hash = sha256(token);
    if (tokens.some((other) => other.role !== role && other.hash.equals(hash)))
      return `entry ${index + 1} has the token of an earlier entry with another role; give each role a token of its own`;
    tokens.push({ role, hash });
  }
  return tokens;
}

/** The role of the token in an `authorization` header; undefined when the token is missing or unknown. */
export function authenticateService(tokens: ServiceTokens, authorization: string | null): string | undefined {
  const token = /^Bearer ([\x21-\x7e]+)$/i.exec(authorization ?? '')?.[1];
  if (token === undefined) return undefined;
  const hash = sha256(token);
  return tokens.find((known) => timingSafeEqual(known.hash, hash))?.role;
}
