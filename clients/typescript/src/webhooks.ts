import { ConfigurationError, WebhookVerificationError } from './errors.ts';
import type { WebhookEvent } from './types.ts';

/** The headers of a request: of Node's http module, of fetch, or any other names and values. */
export type WebhookHeaders =
  | { get: (name: string) => string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

export interface ReceivedWebhook {
  readonly headers: WebhookHeaders;
  /** The bytes as they arrived. JSON that was parsed and written again has another signature. */
  readonly body: Uint8Array | string;
  /** The signing secret, or two during a rotation: each `whsec_` and base64. */
  readonly secrets: readonly string[];
  /** The receiver's clock. */
  readonly now?: Date;
}

const encoder = new TextEncoder();
const hmac = { name: 'HMAC', hash: 'SHA-256' };

/**
 * Checks `webhook-signature`, and that the webhook is at most `toleranceSeconds` (300) old. Gives the event.
 *
 * @throws WebhookVerificationError when the webhook is not genuine; ConfigurationError when a secret is unusable
 */
export async function verifyWebhook(
  webhook: ReceivedWebhook & { readonly toleranceSeconds?: number },
): Promise<WebhookEvent> {
  const keys = requireSecrets(webhook.secrets).map(standardKey);
  const id = required(webhook.headers, 'webhook-id');
  const timestamp = required(webhook.headers, 'webhook-timestamp');
  const signature = required(webhook.headers, 'webhook-signature');
  if (!/^[0-9]{1,15}$/.test(timestamp)) throw new WebhookVerificationError('malformed_header');
  const ageSeconds = Math.floor((webhook.now ?? new Date()).getTime() / 1000) - Number(timestamp);
  const toleranceSeconds = webhook.toleranceSeconds ?? 300;
  if (ageSeconds > toleranceSeconds) throw new WebhookVerificationError('too_old');
  if (ageSeconds < -toleranceSeconds) throw new WebhookVerificationError('too_new');
  const sent = signature.split(' ').filter((each) => each.startsWith('v1,'));
  if (sent.length === 0) throw new WebhookVerificationError('malformed_header');
  const body = bytesOf(webhook.body);
  const signed = concatenate(encoder.encode(`${id}.${timestamp}.`), body);
  const signatures = sent.flatMap((each) => {
    const text = each.slice('v1,'.length);
    return /^[A-Za-z0-9+/]{43}=$/.test(text) ? [fromBase64(text)] : [];
  });
  if (!(await isSigned(keys, signatures, signed))) throw new WebhookVerificationError('no_match');
  return parse(body);
}

/**
 * Checks `X-SVC-HMAC-Signature`. It covers the body only, so it does not tell a recorded webhook from a new one: use
 * `verifyWebhook` where you can. Gives the event.
 *
 * @throws WebhookVerificationError when the webhook is not genuine; ConfigurationError when a secret is unusable
 */
export async function verifySvcSignature(webhook: ReceivedWebhook): Promise<WebhookEvent> {
  const keys = requireSecrets(webhook.secrets).map((secret) => encoder.encode(secret));
  const signature = required(webhook.headers, 'x-svc-hmac-signature');
  if (!/^[0-9a-f]{64}$/.test(signature)) throw new WebhookVerificationError('malformed_header');
  const sent = Uint8Array.from(signature.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16));
  const body = bytesOf(webhook.body);
  if (!(await isSigned(keys, [sent], body))) throw new WebhookVerificationError('no_match');
  return parse(body);
}

type Bytes = Uint8Array<ArrayBuffer>;

/** The comparison is that of Web Crypto, which takes the same time for every wrong signature. */
async function isSigned(
  keys: readonly Bytes[],
  signatures: readonly Bytes[],
  signed: Bytes,
): Promise<boolean> {
  for (const bytes of keys) {
    const key = await crypto.subtle.importKey('raw', bytes, hmac, false, ['verify']);
    for (const signature of signatures) {
      if (await crypto.subtle.verify(hmac, key, signature, signed)) return true;
    }
  }
  return false;
}

function requireSecrets(secrets: readonly string[]): readonly string[] {
  if (secrets.length === 0) throw new ConfigurationError('Give at least one signing secret.');
  for (const secret of secrets) {
    if (!/^whsec_[A-Za-z0-9+/]+={0,2}$/.test(secret) || (secret.length - 'whsec_'.length) % 4 !== 0)
      throw new ConfigurationError('A signing secret is "whsec_" and base64, as the dashboard shows it.');
  }
  return secrets;
}

const standardKey = (secret: string): Bytes => fromBase64(secret.slice('whsec_'.length));

const fromBase64 = (text: string): Bytes =>
  Uint8Array.from(atob(text), (character) => character.charCodeAt(0));

const bytesOf = (body: Uint8Array | string): Bytes =>
  typeof body === 'string' ? encoder.encode(body) : Uint8Array.from(body);

function concatenate(first: Bytes, second: Bytes): Bytes {
  const all = new Uint8Array(first.length + second.length);
  all.set(first);
  all.set(second, first.length);
  return all;
}

/** The value of a header, whatever the case of its name. */
function required(headers: WebhookHeaders, name: string): string {
  const value = find(headers, name);
  if (value === undefined || value === '') throw new WebhookVerificationError('missing_header');
  return value;
}

const isGetter = (headers: WebhookHeaders): headers is { get: (name: string) => string | null } =>
  typeof headers['get'] === 'function';

function find(headers: WebhookHeaders, name: string): string | undefined {
  if (isGetter(headers)) return headers.get(name) ?? undefined;
  const value = Object.entries(headers).find(([each]) => each.toLowerCase() === name)?.[1];
  return typeof value === 'object' ? value.join(', ') : value;
}

function parse(body: Bytes): WebhookEvent {
  try {
    const event: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
    if (typeof event === 'object' && event !== null && 'type' in event) return event as WebhookEvent;
  } catch {
    // Gatehouse signs only JSON.
  }
  throw new WebhookVerificationError('malformed_body');
}
