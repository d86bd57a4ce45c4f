import { createPrivateKey, createPublicKey } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';

const text = Type.String({ minLength: 1 });

/** The configuration of a simulated telebirr: the merchant's credentials and public key, and telebirr's private key. */
export const credentialsSchema = Type.Object({
  fabric_app_id: text,
  app_secret: text,
  merchant_app_id: text,
  merchant_code: text,
  /** The public half of the merchant's key: PEM or bare base 64. */
  merchant_public_key: text,
  /** The key with which telebirr signs answers and notifications: PEM or bare base 64. */
  telebirr_private_key: text,
  /** Whether the merchant's signatures must be RSASSA-PSS. Clients disagree, and so do telebirr's environments. */
  require_pss: Type.Optional(Type.Boolean()),
});

export interface TelebirrCredentials {
  readonly fabricAppId: string;
  readonly appSecret: string;
  readonly merchantAppId: string;
  readonly merchantCode: string;
  readonly merchantPublicKey: KeyObject;
  readonly telebirrPrivateKey: KeyObject;
  readonly requirePss: boolean;
}

/** @throws Error for keys that cannot be read */
export function readCredentials(credentials: unknown): TelebirrCredentials {
  const given = Value.Decode(credentialsSchema, credentials);
  const der = (key: string) => Buffer.from(key, 'base64');
  const isPem = (key: string) => key.includes('-----BEGIN');
  const { merchant_public_key: publicKey, telebirr_private_key: privateKey } = given;
  return {
    fabricAppId: given.fabric_app_id,
    appSecret: given.app_secret,
    merchantAppId: given.merchant_app_id,
    merchantCode: given.merchant_code,
    requirePss: given.require_pss ?? false,
    merchantPublicKey: createPublicKey(
      isPem(publicKey) ? publicKey : { key: der(publicKey), format: 'der', type: 'spki' },
    ),
    telebirrPrivateKey: createPrivateKey(
      isPem(privateKey) ? privateKey : { key: der(privateKey), format: 'der', type: 'pkcs8' },
    ),
  };
}
