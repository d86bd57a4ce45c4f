import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Type } from '@sinclair/typebox';
import { headerText, secretText } from '../connector/connector-kind.ts';
import type { ConnectorKind } from '../connector/connector-kind.ts';
import type { WalletCapabilities } from '../connector/wallet-connector.ts';
import { codeOf } from '../../platform/error-code.ts';
import { certificatesIn, mustContainCertificates } from '../../platform/tls/pem-certificates.ts';
import { readPrivateKey, readPublicKey } from './signature.ts';

const text = (description: string) => Type.String({ minLength: 1, description });

const settings = Type.Object(
  {
    base_url: Type.String({
      pattern: '^https?://',
      description: 'The API, up to and including /apiaccess/payment/gateway.',
    }),
    checkout_url: Type.String({
      pattern: '^https?://',
      description: 'The payment page, such as https://…/payment/web/paygate?',
    }),
    fabric_app_id: headerText('The Fabric app id, a UUID. Not the merchant app id.'),
    app_secret: secretText('The app secret, 32 hexadecimal digits.'),
    merchant_app_id: text('The merchant app id (appid), about 16 digits.'),
    merchant_code: text('The short code of the merchant (merch_code).'),
    private_key: secretText(
      'The private RSA key whose public half telebirr has: PEM, or the bare base 64 of PKCS#8.',
    ),
    telebirr_public_key: text("Ethio telecom's public RSA key: PEM, or the bare base 64 of SPKI."),
    signature_padding: Type.Optional(
      Type.Union([Type.Literal('pss'), Type.Literal('pkcs1')], {
        description: 'The padding of our signatures. pss unless Ethio telecom says otherwise.',
      }),
    ),
    verify_answers: Type.Optional(
      Type.Boolean({
        default: true,
        description:
          "Whether answers must have telebirr's signature. Which of their fields are signed is not documented. If " +
          'wallet check reports that the signature is not valid, ask Ethio telecom before you turn this off.',
      }),
    ),
    payment_minutes: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 120,
        description: 'How long the payer can pay on the page. Default: 5.',
      }),
    ),
    ca_file: Type.Optional(
      text(
        'A PEM file with certificates to trust besides the usual ones. The test gateway omits its intermediate.',
      ),
    ),
  },
  { additionalProperties: false },
);

const capabilities: WalletCapabilities = {
  // The effect of a second order with one id is not documented.
  idempotentInitiate: false,
  payerNeedsAnswer: true,
  queryBy: 'provider_reference',
  recovery: true,
  reversal: true,
  partialReversal: true,
  statement: false,
  callbackMethod: 'POST',
  callbackAuthentication: 'signature',
};

const standardMinutes = 5;

/** telebirr of Ethio telecom, by its Fabric gateway: the payer pays on telebirr's page. */
export const telebirr: ConnectorKind<typeof settings> = {
  name: 'telebirr',
  settings,
  merchantSettings: ['fabric_app_id', 'app_secret', 'merchant_app_id', 'merchant_code', 'private_key'],
  payeeSettings: ['merchant_code'],
  capabilities,
  load: async () => {
    const { TelebirrConnector } = await import('./telebirr-connector.ts');
    return (given, options) =>
      new TelebirrConnector(
        {
          baseUrl: given.base_url,
          checkoutUrl: given.checkout_url,
          fabricAppId: given.fabric_app_id,
          appSecret: given.app_secret,
          merchantAppId: given.merchant_app_id,
          merchantCode: given.merchant_code,
          privateKey: readKey('private_key', () => readPrivateKey(given.private_key)),
          telebirrPublicKey: readKey('telebirr_public_key', () => readPublicKey(given.telebirr_public_key)),
          padding: given.signature_padding ?? 'pss',
          verifyAnswers: given.verify_answers ?? true,
          paymentMinutes: given.payment_minutes ?? standardMinutes,
          ...(given.ca_file === undefined ? {} : { extraCertificates: readCertificates(given.ca_file) }),
        },
        capabilities,
        options,
      );
  },
};

/** @throws Error that names the file */
function readCertificates(file: string): string {
  let pem: Buffer;
  try {
    pem = readFileSync(file);
  } catch (error) {
    throw new Error(`ca_file ${resolve(file)} cannot be read (${codeOf(error)})`, { cause: error });
  }
  if (!certificatesIn(pem)?.length) throw new Error(`ca_file ${file} ${mustContainCertificates}`);
  return pem.toString('utf8');
}

/** @throws Error that names the setting, never its value */
function readKey<T>(name: string, read: () => T): T {
  try {
    return read();
  } catch {
    throw new Error(`${name} must be an RSA key of 1024 to 4096 bits, in PEM form or bare base 64`);
  }
}
