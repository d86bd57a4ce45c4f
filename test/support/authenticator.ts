import { Secret, TOTP } from 'otpauth';
import { waitUntil } from './wait-until.ts';

export const totpStepMs = 30_000;

/** The code that an authenticator with this secret shows, the given number of 30-second steps from now. */
export const codeOf = (secret: string, steps = 0): string =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: Date.now() + steps * totpStepMs });

/** A code that no authenticator with this secret shows near this time. */
export const wrongCodeOf = (secret: string): string =>
  String((Number(codeOf(secret)) + 500_000) % 1_000_000).padStart(6, '0');

/** Waits until enough of the step is left that a test and its core are in the same one. */
export const untilStepIsYoung = (leftMs = 6_000) =>
  waitUntil('the step is young enough', () => Date.now() % totpStepMs < totpStepMs - leftMs);
