/** The first byte of a checkout token. */
export const environmentBytes = { SANDBOX: 0, PRODUCTION: 1 } as const;

/** The environment that a token states in its first four letters. Only core can tell whether the token is genuine. */
export const environmentInToken = (token: string): keyof typeof environmentBytes =>
  Buffer.from(token.slice(0, 4), 'base64url')[0] === environmentBytes.SANDBOX ? 'SANDBOX' : 'PRODUCTION';
