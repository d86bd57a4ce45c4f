import { Type } from '@sinclair/typebox';
import type { Static } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { createSecurityKey } from './certificate.ts';

const text = Type.String({ minLength: 1 });

/** The configuration of a simulated M-Pesa. The names are those of the connector's settings. */
export const mpesaCredentials = Type.Object({
  consumer_key: text,
  consumer_secret: text,
  short_code: Type.String({ pattern: '^[0-9]{5,7}$' }),
  passkey: text,
  till_number: Type.Optional(text),
  initiator_name: text,
  initiator_password: text,
  /** The private key whose certificate encrypts the initiator's password, in PEM. Without it, one is made at each start. */
  security_key: Type.Optional(text),
});

/** The app, the organisation and its initiator, as the simulator knows them. */
export type MpesaCredentials = Required<Omit<Static<typeof mpesaCredentials>, 'till_number'>> & {
  readonly till_number: string | undefined;
};

/** The credentials, with a new security key if none is given. */
export function readMpesaCredentials(credentials: unknown): MpesaCredentials {
  const read = Value.Decode(mpesaCredentials, credentials);
  return {
    ...read,
    till_number: read.till_number,
    security_key: read.security_key ?? createSecurityKey(),
  };
}
