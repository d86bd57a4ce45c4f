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

/** The bytes that the padding of PKCS #1 v1.5 takes. */
const paddingBytes = 11;

/**
 * The initiator's password, encrypted for M-Pesa by RSA with the padding of PKCS #1 v1.5, in base64.
 * @throws TypeError when the password is longer than the key of the certificate can encrypt
 */
export function securityCredential(certificate: KeyObject, password: string): string {
  const plain = Buffer.from(password);
  const maxBytes = (certificate.asymmetricKeyDetails?.modulusLength ?? 0) / 8 - paddingBytes;
  if (plain.length > maxBytes)
    throw new TypeError(
      `initiator_password must be at most ${maxBytes} bytes long, for the certificate of M-Pesa`,
    );
  return publicEncrypt({ key: certificate, padding: constants.RSA_PKCS1_PADDING }, plain).toString('base64');
}
