import { Secret, TOTP } from 'otpauth';

/** The 30-second step of a code, counted from 1970; undefined for a code that is not valid now. */
export type StepOfCode = (secret: string, code: string, now: Date) => number | undefined;

const periodSeconds = 30;
/** RFC 6238, 5.2: one step in each direction, for clock differences and the time of typing. */
const window = 1;
/** RFC 4226, 4: 160 bits are recommended. */
const secretBytes = 20;

const totpOf = (secret: string, label: string): TOTP =>
  new TOTP({ issuer: 'Gatehouse', label, secret: Secret.fromBase32(secret), period: periodSeconds });

/** A secret for an authenticator, in base32. */
export const makeTotpSecret = (randomBytes: (length: number) => Buffer): string =>
  new Secret({ buffer: Uint8Array.from(randomBytes(secretBytes)).buffer }).base32;

/** The text of an authenticator's QR code: https://github.com/google/google-authenticator/wiki/Key-Uri-Format */
export const totpUri = (secret: string, email: string): string => totpOf(secret, email).toString();

/** RFC 6238 with SHA-1, six digits and 30 seconds, which every authenticator supports. */
export const stepOfTotp: StepOfCode = (secret, code, now) => {
  if (!/^[0-9]{6}$/.test(code)) return undefined;
  const delta = totpOf(secret, '').validate({ token: code, timestamp: now.getTime(), window });
  return delta === null ? undefined : Math.floor(now.getTime() / 1000 / periodSeconds) + delta;
};
