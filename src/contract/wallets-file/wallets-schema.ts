import { Type } from '@sinclair/typebox';
import type { Static, TSchema } from '@sinclair/typebox';
import { channels, walletIdPattern } from '../payment-option.ts';

const closed = { additionalProperties: false } as const;
const amount = (description: string) =>
  Type.String({ pattern: '^(?:0|[1-9][0-9]{0,11})(?:\\.[0-9]{1,4})?$', description });

const currency = Type.Object(
  {
    code: Type.String({ pattern: '^[A-Z]{3}$', description: 'ISO 4217 code, such as ETB.' }),
    least_amount: Type.Optional(amount('The least amount of a payment.')),
    greatest_amount: Type.Optional(amount('The greatest amount of a payment.')),
    decimals: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 4,
        description:
          'The decimals that the wallet takes, such as 0 for whole amounts only. The decimals of the currency when absent.',
      }),
    ),
  },
  closed,
);

/** A secret, by its name: the name of an environment variable, or of one with `_FILE` appended, which names a file. */
export const secretReference = Type.Object(
  {
    secret: Type.String({
      pattern: '^[A-Z][A-Z0-9_]{0,127}$',
      description:
        'The environment variable that contains the secret. With _FILE appended: the variable that names its file.',
    }),
  },
  closed,
);

const environment = Type.Object(
  {
    settings: Type.Record(Type.String(), Type.Unknown(), {
      description: "The connector's settings: base URLs, credentials, the payee account.",
    }),
    callbacks: Type.Optional(
      Type.Object(
        {
          sources: Type.Optional(
            Type.Array(Type.String({ minLength: 1 }), {
              description: 'The addresses and networks that may send callbacks. Any when absent.',
            }),
          ),
          api_key: Type.Optional(secretReference),
        },
        closed,
      ),
    ),
    payer_started: Type.Optional(
      Type.Object(
        {
          merchant_id: Type.Optional(
            Type.Unsafe<`mer_${string}`>(
              Type.String({
                pattern: '^mer_[0-7][0-9a-hjkmnp-tv-z]{25}$',
                description:
                  'The only merchant of the account that is paid. Absent when several merchants share the account.',
              }),
            ),
          ),
          paybill: Type.Optional(
            Type.String({
              pattern: '^[0-9]{3,9}$',
              description:
                'The paybill number. With it, checkout shows how to pay from the menu of the phone. A till has no account number, so it cannot name an order.',
            }),
          ),
          without_answer: Type.Optional(
            Type.Union([Type.Literal('cancel'), Type.Literal('complete')], {
              default: 'cancel',
              description: 'What the wallet does with a payment when our validation URL does not answer.',
            }),
          ),
          register_at_start: Type.Optional(
            Type.Boolean({
              default: false,
              description: 'Whether the wallets process registers its URLs with the wallet at each start.',
            }),
          ),
        },
        {
          ...closed,
          description:
            'Takes payments that payers start themselves, at a till or paybill. Not taken when absent.',
        },
      ),
    ),
    max_in_flight: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 500,
        description:
          'Concurrent payments of one process. The same number limits its reversals, and its confirmations of payer-started payments.',
      }),
    ),
    call_timeout_ms: Type.Optional(
      // Below the time limit of all calls under one lease.
      Type.Integer({
        minimum: 100,
        maximum: 30_000,
        description: 'The time limit of one call to the wallet.',
      }),
    ),
  },
  closed,
);

const wallet = Type.Object(
  {
    id: Type.String({
      pattern: walletIdPattern,
      description:
        'Names the wallet in payment options, such as mpesa in mpesa_ussd. It must not change once used.',
    }),
    names: Type.Object(
      { en: Type.String({ minLength: 1, maxLength: 40 }), am: Type.String({ minLength: 1, maxLength: 40 }) },
      { ...closed, description: 'The name that customers read, in English and Amharic.' },
    ),
    logo: Type.Optional(
      Type.String({
        pattern: '\\.(svg|png)$',
        description: 'An SVG or PNG file of at most 32 KiB, relative to this file.',
      }),
    ),
    connector: Type.String({ minLength: 1, description: 'The protocol of the wallet.' }),
    channels: Type.Array(Type.Union(channels.map((channel) => Type.Literal(channel))), {
      minItems: 1,
      uniqueItems: true,
      description: "ussd: a prompt on the payer's phone. wallet: the wallet's own app or page.",
    }),
    currencies: Type.Array(currency, { minItems: 1 }),
    phone_prefixes: Type.Optional(
      Type.Array(Type.String({ pattern: '^\\+[1-9][0-9]{1,11}$', description: 'Such as +2519.' }), {
        description: "The first digits of its subscribers' numbers. Checkout preselects the wallet by them.",
      }),
    ),
    reconcile: Type.Optional(
      Type.Boolean({
        description:
          "Whether the wallet's statement is compared each day. Only for connectors with a statement.",
      }),
    ),
    environments: Type.Object(
      { sandbox: Type.Optional(environment), production: Type.Optional(environment) },
      { ...closed, minProperties: 1 },
    ),
  },
  closed,
);

export const maxWallets = 50;

export const walletsSchema = Type.Object(
  {
    $schema: Type.Optional(Type.String()),
    wallets: Type.Array(wallet, { maxItems: maxWallets }),
  },
  closed,
);

export type WalletsFile = Static<typeof walletsSchema>;
export type WalletEntry = WalletsFile['wallets'][number];
export type WalletEnvironment = Static<typeof environment>;
export type EnvironmentName = keyof WalletEntry['environments'];
export type Schema = TSchema;
