import { Type } from '@sinclair/typebox';
import type { Static } from '@sinclair/typebox';
import { secretText } from '../connector/connector-kind.ts';

/** The settings of an organisation's user that asks about transactions, in every country of M-Pesa. */
export const initiatorSettings = {
  initiator_name: Type.String({
    minLength: 1,
    description: 'The user of the organisation that has the roles for transaction status and reversals.',
  }),
  initiator_password: secretText("The password of that user, from the organisation's portal."),
  certificate_pem: Type.Optional(
    Type.String({
      minLength: 1,
      description: "M-Pesa's certificate for this environment, as PEM text. It replaces certificate_file.",
    }),
  ),
  certificate_file: Type.Optional(
    Type.String({
      minLength: 1,
      description: "The path of M-Pesa's certificate for this environment, a PEM file.",
    }),
  ),
};

export const darajaSettings = Type.Object(
  {
    base_url: Type.String({
      pattern: '^https?://',
      description: 'https://sandbox.safaricom.co.ke or https://api.safaricom.co.ke',
    }),
    consumer_key: Type.String({
      minLength: 1,
      description: 'The consumer key of the app, from the Daraja portal.',
    }),
    consumer_secret: secretText('The consumer secret of the app, from the Daraja portal.'),
    short_code: Type.String({
      pattern: '^[0-9]{5,7}$',
      description: 'The paybill number. For a till, the number of its head office or store.',
    }),
    passkey: secretText('The passkey for Lipa na M-Pesa Online of this short code.'),
    transaction_type: Type.Optional(
      Type.Union([Type.Literal('paybill'), Type.Literal('till')], {
        default: 'paybill',
        description: 'Whether payments go to the paybill or to a till.',
      }),
    ),
    till_number: Type.Optional(
      Type.String({
        pattern: '^[0-9]{5,8}$',
        description: 'The till that receives payments, for the type till.',
      }),
    ),
    ...initiatorSettings,
    pull: Type.Optional(
      Type.Boolean({
        default: false,
        description:
          'Whether Safaricom has granted Pull Transactions, which serves as the statement of 48 hours.',
      }),
    ),
  },
  { additionalProperties: false },
);
export type DarajaSettings = Static<typeof darajaSettings>;
