import { generateKeyPairSync } from 'node:crypto';

/** A new pair of RSA keys in PEM form. */
export const newRsaKeys = () =>
  generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
