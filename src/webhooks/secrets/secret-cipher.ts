import { createCipheriv, createDecipheriv } from 'node:crypto';
import type { NamedKey } from '../../platform/settings/named-keys.ts';
import type { Environment } from '../domain/delivery.ts';
import type { SecretProblem } from '../domain/explain-delivery.ts';

/**
 * The identity of a secret. It is authenticated with the ciphertext, so a row copied to another merchant cannot be
 * decrypted.
 */
export interface SecretName {
  readonly merchantId: string;
  readonly environment: Environment;
  readonly id: string;
}

export interface SealedSecret {
  /** Name of the key in the settings. */
  readonly keyId: string;
  /** 12 bytes nonce, ciphertext, 16 bytes tag. */
  readonly sealed: Buffer;
}

/** A stored secret cannot be decrypted. The message says what to do. It contains no part of the secret or of a key. */
export class SecretUnusableError extends Error {
  readonly problem: SecretProblem;
  constructor(message: string, problem: SecretProblem, options?: ErrorOptions) {
    super(message, options);
    this.name = 'SecretUnusableError';
    this.problem = problem;
  }
}

export interface SecretCipher {
  /** The id of the encrypting key. */
  readonly keyId: string;
  readonly seal: (text: string, name: SecretName) => SealedSecret;
  /** @throws SecretUnusableError when the key is not in the settings, or the ciphertext does not match the key or the name */
  readonly open: (stored: SealedSecret, name: SecretName) => string;
}

const algorithm = 'aes-256-gcm';
/** NIST SP 800-38D, 8.2: 96 random bits. That is enough, because there are few secrets. */
const nonceBytes = 12;
const tagBytes = 16;

const boundTo = ({ merchantId, environment, id }: SecretName): Buffer =>
  Buffer.from(`${merchantId}|${environment}|${id}`);

/** AES-256-GCM with the first key. Secrets encrypted with any of the keys can be decrypted. */
export function createSecretCipher(
  keys: readonly [NamedKey, ...NamedKey[]],
  randomBytes: (length: number) => Buffer,
): SecretCipher {
  const [sealing] = keys;
  return {
    keyId: sealing.name,
    seal(text, name) {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv(algorithm, sealing.key, nonce, { authTagLength: tagBytes });
      cipher.setAAD(boundTo(name));
      const sealed = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
      return { keyId: sealing.name, sealed };
    },
    open({ keyId, sealed }, name) {
      const known = keys.find((key) => key.name === keyId);
      if (known === undefined) {
        throw new SecretUnusableError(
          `the signing secret ${name.id} is encrypted with the key "${keyId}", which is not in GATEHOUSE_WEBHOOK_SECRET_KEYS; ` +
            'add that key again after the others',
          { kind: 'KEY_MISSING', secretId: name.id, keyName: keyId },
        );
      }
      try {
        if (sealed.length < nonceBytes + tagBytes) throw new Error('the ciphertext is too short');
        const nonce = sealed.subarray(0, nonceBytes);
        const decipher = createDecipheriv(algorithm, known.key, nonce, { authTagLength: tagBytes });
        decipher.setAAD(boundTo(name));
        decipher.setAuthTag(sealed.subarray(-tagBytes));
        return (
          decipher.update(sealed.subarray(nonceBytes, -tagBytes), undefined, 'utf8') + decipher.final('utf8')
        );
      } catch (cause) {
        throw new SecretUnusableError(
          `the signing secret ${name.id} cannot be decrypted with the key "${keyId}": that key in ` +
            'GATEHOUSE_WEBHOOK_SECRET_KEYS has changed since it encrypted the secret, or the stored bytes have; ' +
            'give that name its former key again, or rotate the secret',
          { kind: 'KEY_WRONG', secretId: name.id, keyName: keyId },
          { cause },
        );
      }
    },
  };
}
