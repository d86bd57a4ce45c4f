import { constants, createPrivateKey, createPublicKey, sign, verify } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

/** The padding of RSA signatures. telebirr requires PSS; some older environments used PKCS#1 v1.5. */
export type SignaturePadding = 'pss' | 'pkcs1';

/** Fields that are never signed, at the top and in `biz_content`. */
const unsigned: ReadonlySet<string> = new Set([
  'sign',
  'sign_type',
  'header',
  'refund_info',
  'openType',
  'raw_request',
  'biz_content',
  'wallet_reference_data',
]);

type Fields = Readonly<Record<string, unknown>>;

/**
 * The text to sign: the fields of a message and those of its `biz_content`, sorted by their bytes, as `key=value` joined by
 * `&`. Empty fields, objects and lists are left out. Values are not encoded.
 */
export function textToSign(message: Fields): string {
  const content = message['biz_content'];
  const fields = new Map<string, string>();
  for (const [key, value] of [
    ...Object.entries(message),
    ...(isFields(content) ? Object.entries(content) : []),
  ]) {
    const text = textOf(value);
    if (!unsigned.has(key) && text !== '') fields.set(key, text);
  }
  return [...fields]
    .sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
    .map(([key, value]) => `${key}=${value}`)
    .join('&');
}

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const textOf = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';

const saltLength = 32;

const signOptions = (key: KeyObject, padding: SignaturePadding) =>
  padding === 'pss'
    ? { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength }
    : { key, padding: constants.RSA_PKCS1_PADDING };

/** The signature of a message in base 64: RSA with SHA-256 (RFC 8017). */
export const signMessage = (message: Fields, key: KeyObject, padding: SignaturePadding): string =>
  sign('sha256', Buffer.from(textToSign(message)), signOptions(key, padding)).toString('base64');

/** The padding with which `message.sign` is a signature of the message; undefined if it is none. */
export function verifyMessage(message: Fields, key: KeyObject): SignaturePadding | undefined {
  const given = message['sign'];
  if (typeof given !== 'string') return undefined;
  const text = Buffer.from(textToSign(message));
  const signature = Buffer.from(given, 'base64');
  return (['pss', 'pkcs1'] as const).find((padding) =>
    verify('sha256', text, signOptions(key, padding), signature),
  );
}

/**
 * A private RSA key in PEM form, or the bare base 64 of PKCS#8 in which Ethio telecom issues it.
 * @throws Error for any other text
 */
export function readPrivateKey(text: string): KeyObject {
  const [, pkcs1, inner] = /-----BEGIN (RSA )?PRIVATE KEY-----([^-]+)-----END/.exec(text) ?? [];
  const key = Buffer.from(inner ?? text, 'base64');
  const type = pkcs1 === undefined ? 'pkcs8' : 'pkcs1';
  if (!beginningOfRsaKey[type].test(key.toString('hex'))) throw new TypeError('not a private RSA key');
  return requireRsa(createPrivateKey({ key, format: 'der', type }));
}

const length = '(?:[0-7].|81..|82....)';

/**
 * How the DER of a private RSA key begins. Merchants give keys of their own, and OpenSSL computes the public half of a DSA or DH key while
 * it reads it. The longest key that fits takes ten seconds.
 */
const beginningOfRsaKey = {
  pkcs8: new RegExp(`^30${length}02010[01]30${length}06092a864886f70d010101`),
  pkcs1: new RegExp(`^30${length}02010002`),
};

/**
 * A public RSA key in PEM form, or the bare base 64 of SPKI.
 * @throws Error for any other text
 */
export const readPublicKey = (text: string): KeyObject =>
  requireRsa(
    isPem(text)
      ? createPublicKey(text)
      : createPublicKey({ key: Buffer.from(text, 'base64'), format: 'der', type: 'spki' }),
  );

/** A shorter key cannot sign with PSS and SHA-256. */
const minKeyBits = 1024;
/** Merchants give keys of their own. A longer one would keep the process of all wallets busy with each signature. */
const maxKeyBits = 4096;

/** The greatest accepted public exponent. The usual one is 65537. */
const maxExponent = 2n ** 32n;

function requireRsa(key: KeyObject): KeyObject {
  const { modulusLength: bits = 0, publicExponent = 0n } =
    key.asymmetricKeyType === 'rsa' ? (key.asymmetricKeyDetails ?? {}) : {};
  if (bits < minKeyBits || bits > maxKeyBits || publicExponent > maxExponent || hasLongParts(key, bits))
    throw new TypeError('not an RSA key of a usable length');
  return key;
}

/** Whether the primes of a private key, or the numbers that are computed from them, are longer than half of the key. Signing is then much slower. */
function hasLongParts(key: KeyObject, bits: number): boolean {
  const { p, q, dp, dq, qi } = key.export({ format: 'jwk' });
  return [p, q, dp, dq, qi].some((part) => Buffer.byteLength(part ?? '', 'base64url') > bits / 16 + 1);
}

const isPem = (text: string): boolean => text.includes('-----BEGIN');
