import { createHmac, createSecretKey } from 'node:crypto';

/** The secrets that sign a merchant's webhooks, in their displayed form: "whsec_" and base64. */
export interface LiveSecrets {
  readonly current: string;
  /** The next secret, during a rotation. */
  readonly next?: string;
}

const prefix = 'whsec_';

/**
 * The headers of one attempt to send `body`: type, event, time and signatures.
 *
 * - `X-SVC-HMAC-Signature`: lowercase hexadecimal HMAC-SHA256 of the body. The key is the current secret's whole text.
 * The header holds one signature, so receivers see a rotation in it only when the next secret becomes current.
 * - `webhook-id`, `webhook-timestamp` (Unix seconds) and `webhook-signature` follow Standard Webhooks. A signature is
 * `v1,` and the base64 HMAC-SHA256 of id, timestamp and body joined by full stops. Its key is the bytes after "whsec_".
 * There is one for each live secret, the current one first.
 *
 * @see https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
export function signedHeaders(input: {
  readonly eventId: string;
  readonly body: Uint8Array;
  readonly at: Date;
  readonly secrets: LiveSecrets;
}): Record<string, string> {
  const { eventId, body, secrets } = input;
  const timestamp = String(Math.floor(input.at.getTime() / 1000));
  const live = secrets.next === undefined ? [secrets.current] : [secrets.current, secrets.next];
  return {
    'content-type': 'application/json',
    'X-SVC-HMAC-Signature': createHmac('sha256', secrets.current).update(body).digest('hex'),
    'webhook-id': eventId,
    'webhook-timestamp': timestamp,
    'webhook-signature': live.map((secret) => standardSignature(secret, eventId, timestamp, body)).join(' '),
  };
}

function standardSignature(secret: string, id: string, timestamp: string, body: Uint8Array): string {
  // With a Buffer as its key, an HMAC takes four times as long.
  const key = createSecretKey(secret.slice(prefix.length), 'base64');
  return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')}`;
}
