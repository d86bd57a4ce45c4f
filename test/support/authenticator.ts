import { Secret, TOTP } from 'otpauth';

export const totpStepMs = 30_000;

/** The code that an authenticator with this secret shows, the given number of 30-second steps from now. */
export const codeOf = (secret: string, steps = 0): string =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: Date.now() + steps * totpStepMs });
