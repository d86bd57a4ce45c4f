import { createPrivateKey, createPublicKey, generateKeyPairSync, sign } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

/** A new private key, in PEM, whose certificate encrypts the passwords of initiators. */
export const createSecurityKey = (): string =>
  generateKeyPairSync('rsa', { modulusLength: 2048 })
    .privateKey.export({ type: 'pkcs8', format: 'pem' })
    .toString();

/**
 * The certificate of a private key, in PEM, signed by itself. The same key always has the same certificate. It is an X.509
 * certificate of version 1 (RFC 5280, section 4.1), which needs no extensions.
 */
export function certificateOf(securityKey: string): string {
  const privateKey = createPrivateKey(securityKey);
  const algorithm = sequence(objectId('1.2.840.113549.1.1.11'), der(0x05));
  const name = sequence(der(0x31, sequence(objectId('2.5.4.3'), der(0x0c, Buffer.from('M-Pesa simulator')))));
  const validity = sequence(utcTime('250101000000Z'), utcTime('491231235959Z'));
  const body = sequence(
    der(0x02, Buffer.from([1])),
    algorithm,
    name,
    validity,
    name,
    publicKeyOf(privateKey),
  );
  const signature = sign('sha256', body, privateKey);
  const certificate = sequence(body, algorithm, der(0x03, Buffer.concat([Buffer.from([0]), signature])));
  const lines = certificate.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}

const publicKeyOf = (privateKey: KeyObject): Buffer =>
  createPublicKey(privateKey).export({ type: 'spki', format: 'der' });

/** A value in DER (ITU-T X.690, section 8.1): its tag, its length and its content. */
function der(tag: number, ...contents: readonly Buffer[]): Buffer {
  const content = Buffer.concat(contents);
  const length = content.length;
  const header =
    length < 0x80
      ? [length]
      : length < 0x100
        ? [0x81, length]
        : [0x82, Math.floor(length / 0x100), length % 0x100];
  return Buffer.concat([Buffer.from([tag, ...header]), content]);
}

const sequence = (...contents: readonly Buffer[]): Buffer => der(0x30, ...contents);
const utcTime = (text: string): Buffer => der(0x17, Buffer.from(text));

function objectId(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  const bytes = rest.flatMap((arc) => {
    const digits = [arc % 0x80];
    for (let left = Math.floor(arc / 0x80); left > 0; left = Math.floor(left / 0x80)) {
      digits.unshift(0x80 + (left % 0x80));
    }
    return digits;
  });
  return der(0x06, Buffer.from([first * 40 + second, ...bytes]));
}
