import { constants, createPublicKey, publicEncrypt } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

/**
 * The public key in a certificate, or a bare public key, in PEM.
 * @throws TypeError for any other text
 */
export function readCertificate(pem: string): KeyObject {
  let key: KeyObject;
  try {
    key = createPublicKey(pem);
  } catch {
    throw new TypeError(
      'the certificate of M-Pesa must be a PEM file that begins with -----BEGIN CERTIFICATE-----',
    );
  }
  if (key.asymmetricKeyType === 'rsa') return key;
  throw new TypeError('the certificate of M-Pesa must contain an RSA key');
}

/** The initiator's password, encrypted for M-Pesa by RSA with the padding of PKCS #1 v1.5, in base64. */
export const securityCredential = (certificate: KeyObject, password: string): string =>
  publicEncrypt({ key: certificate, padding: constants.RSA_PKCS1_PADDING }, Buffer.from(password)).toString(
    'base64',
  );
