import { signedHeaders } from '../../contract/webhook-signature.ts';
import type { LiveSecrets } from '../../contract/webhook-signature.ts';
import { openForwarder } from '../forward-webhook.ts';
import type { Forwarded, SignedWebhook } from '../forward-webhook.ts';
import type { MadeUpEvent } from './made-up-events.ts';

/** The differences from an ordinary webhook. */
export interface Sending {
  /** The merchant's secret when absent. */
  readonly secrets?: LiveSecrets;
  /** The time of the signature; now when absent. */
  readonly signedAt?: Date;
  /** The text of the body; as Gatehouse writes it when absent. */
  readonly text?: string;
  /** The text that is sent in place of the signed one. */
  readonly sentText?: string;
  /** Headers that replace signed ones; undefined removes one. Names as in `signedHeaders`. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
}

/** Sends webhooks that certification makes up to the merchant's receiver. */
export interface WebhookSender {
  readonly send: (event: MadeUpEvent, sending?: Sending) => Promise<Forwarded>;
  readonly get: () => Promise<Forwarded>;
  readonly close: () => Promise<void>;
}

export interface WebhookSenderOptions {
  readonly url: URL;
  /** The merchant's current secret. */
  readonly secret: string;
  /** The time limit of one answer. */
  readonly answerMs: number;
  readonly now: () => Date;
  readonly stop: AbortSignal;
}

const userAgent = 'Gatehouse-Webhooks (certification)';

export function openWebhookSender(options: WebhookSenderOptions): WebhookSender {
  const { url, secret, answerMs, now, stop } = options;
  const nowMs = (): number => now().getTime();
  const forwarder = openForwarder({ url, totalMs: answerMs, nowMs, userAgent });
  return {
    send: (event, sending = {}) =>
      forwarder.forward(
        signedWebhook(event, { secrets: { current: secret }, signedAt: now(), ...sending }),
        stop,
      ),
    get: () => forwarder.forward({ method: 'GET', headers: {}, body: new Uint8Array() }, stop),
    close: () => forwarder.close(),
  };
}

function signedWebhook(
  { id, body }: MadeUpEvent,
  sending: Sending & { readonly secrets: LiveSecrets; readonly signedAt: Date },
): SignedWebhook {
  const { secrets, signedAt, text = JSON.stringify(body), sentText = text } = sending;
  const own = signedHeaders({ eventId: id, body: Buffer.from(text), at: signedAt, secrets });
  const changed = Object.entries({ ...own, ...sending.headers });
  const headers = changed.filter((entry): entry is [string, string] => entry[1] !== undefined);
  return { body: Buffer.from(sentText), headers: Object.fromEntries(headers) };
}
