import { constants, sign, verify } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

export type Fields = Readonly<Record<string, unknown>>;

/** The value of sign_type. */
export const signType = 'SHA256WithRSA';

const leftOut = [
  'sign',
  'sign_type',
  'header',
  'refund_info',
  'openType',
  'raw_request',
  'biz_content',
  'wallet_reference_data',
];

/** telebirr's text to sign: scalar fields of the message and of its biz_content, sorted, as key=value joined by &. */
function stringToSign(message: Fields): string {
  const content = message['biz_content'];
  const all: Fields = { ...message, ...(typeof content === 'object' && content !== null ? content : {}) };
  const pairs = Object.keys(all)
    .filter((key) => !leftOut.includes(key))
    .flatMap((key) => {
      const value = all[key];
      return ['string', 'number', 'boolean'].includes(typeof value) && value !== ''
        ? [`${key}=${String(value)}`]
        : [];
    });
  // By key, not by pair: "=" sorts after digits, which a key may have.
  return pairs.sort((a, b) => (a.slice(0, a.indexOf('=')) < b.slice(0, b.indexOf('=')) ? -1 : 1)).join('&');
}

const pss = (key: KeyObject) => ({ key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 });

/** RSASSA-PSS with SHA-256 and a salt of 32 bytes, in base 64. */
export const signFields = (message: Fields, key: KeyObject): string =>
  sign('sha256', Buffer.from(stringToSign(message)), pss(key)).toString('base64');

/** Whether `message.sign` is the merchant's signature: RSASSA-PSS, or else PKCS#1 v1.5 unless PSS is required. */
export function isSigned(
  message: Fields,
  {
    merchantPublicKey: key,
    requirePss,
  }: { readonly merchantPublicKey: KeyObject; readonly requirePss: boolean },
): boolean {
  const given = message['sign'];
  if (typeof given !== 'string') return false;
  const text = Buffer.from(stringToSign(message));
  const signature = Buffer.from(given, 'base64');
  return (
    verify('sha256', text, pss(key), signature) || (!requirePss && verify('sha256', text, key, signature))
  );
}
