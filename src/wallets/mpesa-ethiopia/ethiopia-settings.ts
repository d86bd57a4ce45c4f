import { Type } from '@sinclair/typebox';
import type { Static } from '@sinclair/typebox';
import { secretText } from '../connector/connector-kind.ts';
import { initiatorSettings } from '../mpesa-daraja/daraja-settings.ts';

export const ethiopiaSettings = Type.Object(
  {
    base_url: Type.String({
      pattern: '^https?://',
      description: 'https://apisandbox.safaricom.et or https://api.safaricom.et',
    }),
    consumer_key: Type.String({ minLength: 1, description: 'The consumer key of the app, from the portal.' }),
    consumer_secret: secretText('The consumer secret of the app, from the portal.'),
    short_code: Type.String({
      pattern: '^[0-9]{3,7}$',
      description: 'The paybill number. For a till, the number of its head office.',
    }),
    passkey: secretText('The passkey for USSD push of this short code.'),
    password_form: Type.Optional(
      Type.Union([Type.Literal('plain'), Type.Literal('sha256')], {
        default: 'plain',
        description:
          'Whether the password is the base64 of short code, passkey and time, or of their SHA-256. Ask Safaricom Ethiopia.',
      }),
    ),
    transaction_type: Type.Optional(
      Type.Union([Type.Literal('paybill'), Type.Literal('till')], {
        default: 'paybill',
        description: 'Whether payments go to the paybill or to a till.',
      }),
    ),
    till_number: Type.Optional(
      Type.String({
        pattern: '^[0-9]{3,8}$',
        description: 'The till that receives payments, for the type till.',
      }),
    ),
    ...initiatorSettings,
  },
  { additionalProperties: false },
);
export type EthiopiaSettings = Static<typeof ethiopiaSettings>;
