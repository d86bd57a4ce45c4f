import { createCipheriv, createDecipheriv } from 'node:crypto';

/** Encrypts values that must be readable later. */
export interface SecretSeal {
  /** `owner` is authenticated with the ciphertext, so a copy in another owner's row cannot be decrypted. */
  readonly seal: (text: string, owner: string) => Buffer;
  /**
   * Decrypts a value.
   * @throws when the value was not encrypted with this key for this owner
   */
  readonly open: (sealed: Uint8Array, owner: string) => string;
}

const algorithm = 'aes-256-gcm';
/** NIST SP 800-38D, 8.2: 96 random bits. That is enough, because there are few secrets. */
const nonceBytes = 12;
const tagBytes = 16;

/** AES-256-GCM. The result is the nonce, the ciphertext and the tag. */
export const createSecretSeal = (key: Buffer, randomBytes: (length: number) => Buffer): SecretSeal => ({
  seal(text, owner) {
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv(algorithm, key, nonce, { authTagLength: tagBytes });
    cipher.setAAD(Buffer.from(owner));
    return Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
  },
  open(sealed, owner) {
    const decipher = createDecipheriv(algorithm, key, sealed.subarray(0, nonceBytes), {
      authTagLength: tagBytes,
    });
    decipher.setAAD(Buffer.from(owner));
    decipher.setAuthTag(sealed.subarray(-tagBytes));
    return (
      decipher.update(sealed.subarray(nonceBytes, -tagBytes), undefined, 'utf8') + decipher.final('utf8')
    );
  },
});
