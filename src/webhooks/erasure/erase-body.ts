import type { WebhookJson } from '../../merchant-api/webhook-json.ts';

type Body = WebhookJson<Record<string, unknown>>;

/** Stands for erased text in the merchant API. */
const erasedText = 'erased';
const personalFields = ['customer_phone', 'reason'] as const;

/** The body of a webhook without the personal data of the customer. */
export function eraseBody(body: Uint8Array): Buffer {
  const webhook = JSON.parse(Buffer.from(body).toString('utf8')) as Body;
  const erased = personalFields.filter((field) => (webhook.data[field] ?? '') !== '');
  const data = { ...webhook.data, ...Object.fromEntries(erased.map((field) => [field, erasedText])) };
  return Buffer.from(JSON.stringify({ ...webhook, data }));
}
