import { Type } from '@sinclair/typebox';
import type { Static } from '@sinclair/typebox';

/** The types of webhooks about orders. The last one is sent on request only. */
const orderTypes = ['order.completed', 'order.failed', 'order.expired', 'webhook.test'] as const;
/** The types of webhooks about payment links. */
const linkTypes = [
  'payment_link.created',
  'payment_link.completed',
  'payment_link.failed',
  'payment_link.expired',
] as const;
/** The types of webhooks about refunds. */
const refundTypes = ['refund.completed', 'refund.failed'] as const;

type WebhookType = (typeof orderTypes)[number] | (typeof linkTypes)[number] | (typeof refundTypes)[number];

/** The fields of a webhook, in the order in which they are written. `data` is exactly what verify or refund/verify answers. */
const webhookFields = <Types extends readonly [WebhookType, ...WebhookType[]]>(
  types: Types,
  data: string,
) => ({
  id: Type.String({
    description: "The event's id, the same in every repeat and equal to the header `webhook-id`.",
    examples: ['evt_01jd4r7c2mf9vx3k8h5w0q6tzn'],
  }),
  type: Type.Unsafe<Types[number]>({
    type: 'string',
    enum: [...types],
    description:
      'The type of the event. New types may be added: answer 2xx to an unknown type, and ignore it.',
    examples: [types[0]],
  }),
  created_at: Type.String({
    format: 'date-time',
    description: 'When the event happened: ISO 8601 in UTC with milliseconds.',
    examples: ['2025-11-20T09:31:12.408Z'],
  }),
  environment: Type.Unsafe<'sandbox' | 'production'>({
    type: 'string',
    enum: ['sandbox', 'production'],
    description: 'The environment of the order.',
    examples: ['sandbox'],
  }),
  sequence: Type.Integer({
    description: 'Grows with every event of an order. Not every event is sent, so the numbers have gaps.',
    examples: [3],
  }),
  previous_status: Type.String({
    description:
      'The status of the order or refund in `data` before the event. Empty if it did not exist before.',
    examples: ['PENDING'],
  }),
  data: Type.Ref(data),
});

/** A webhook about an order: docs/webhooks.md, "Request". */
export const webhookSchema = Type.Object(webhookFields(orderTypes, 'PaymentOrder#'), {
  $id: 'WebhookEvent',
  title: 'Webhook',
});

/** A webhook about a payment link, which is an order. It differs in `type`. */
export const paymentLinkWebhookSchema = Type.Object(webhookFields(linkTypes, 'PaymentOrder#'), {
  $id: 'PaymentLinkWebhookEvent',
  title: 'Webhook about a payment link',
});

/** A webhook about a refund. It differs in `type` and `data`. */
export const refundWebhookSchema = Type.Object(webhookFields(refundTypes, 'Refund#'), {
  $id: 'RefundWebhookEvent',
  title: 'Webhook about a refund',
});

type WebhookFields = Static<typeof webhookSchema>;

/** A webhook with its data: an order or a refund. */
export type WebhookJson<Data> = {
  readonly [Field in keyof WebhookFields]: Field extends 'data'
    ? Data
    : Field extends 'type'
      ? WebhookType
      : WebhookFields[Field];
};

const header = (description: string, example: string) => ({
  description,
  required: true,
  schema: { type: 'string', examples: [example] },
});

const signatures = {
  'webhook-id': header("The event's id.", 'evt_01jd4r7c2mf9vx3k8h5w0q6tzn'),
  'webhook-timestamp': header('When this attempt was made, in seconds since 1970.', '1763631072'),
  'webhook-signature': header(
    'One or more signatures of id, timestamp and body by Standard Webhooks, separated by spaces.',
    'v1,AEJ0kz2fzWOvkPI3yDwXKkzdWZD/tlEGrih0y0AQuwQ=',
  ),
  'X-SVC-HMAC-Signature': header(
    'HMAC-SHA256 of the exact bytes of the body, in lower-case hexadecimal. The key is your whole secret, `whsec_` included.',
    '01de5584ff79bce346b01c08d6b520df0c50ed44d22763d1e544ceed29699be6',
  ),
};

interface DescribedWebhook {
  readonly operationId: string;
  readonly summary: string;
  readonly cause: string;
  /** `endpoints`: a webhook_url does not receive it. */
  readonly receivers: 'endpoints' | 'all';
  readonly schema: string;
}

const describeWebhook = ({ operationId, summary, cause, receivers, schema }: DescribedWebhook) => ({
  post: {
    operationId,
    tags: ['Webhooks'],
    summary,
    description:
      `${cause} Sent to ${receivers === 'all' ? 'the `webhook_url` of the order, and to ' : ''}each of your webhook endpoints ` +
      'that receives the type. ' +
      'Gatehouse sends it again until your server answers 2xx within 15 seconds, up to 13 times within 76 hours. The webhooks of one order ' +
      'arrive in order. Verify a signature before you trust a webhook.',
    // Gatehouse sends it, so it has no API key. The signatures authenticate it.
    security: [],
    parameters: Object.entries(signatures).map(([name, each]) => ({ in: 'header', name, ...each })),
    requestBody: {
      required: true,
      content: { 'application/json': { schema: { $ref: `#/components/schemas/${schema}` } } },
    },
    responses: {
      '2XX': { description: 'The webhook is delivered. It is not sent again.' },
      '410': {
        description:
          'Your server wants no more webhooks. Nothing is sent to this webhook endpoint, or to the host of this webhook_url, until it is resumed.',
      },
      default: {
        description:
          'It is sent again later, up to 13 attempts in 76 hours, the first included. A webhook.test gets 3 attempts.',
      },
    },
  },
});

/** OpenAPI's description of the requests to a webhook_url or webhook endpoint. */
export const webhooksDescription = {
  orderEnded: describeWebhook({
    operationId: 'orderEnded',
    summary: 'An order has ended',
    cause: 'The order became COMPLETED, FAILED or EXPIRED.',
    receivers: 'all',
    schema: 'WebhookEvent',
  }),
  paymentLinkChanged: describeWebhook({
    operationId: 'paymentLinkChanged',
    summary: 'A payment link was created or has ended',
    cause:
      'A payment link or QR code was created, or its order became COMPLETED, FAILED or EXPIRED. The end of a payment link is ' +
      'sent once: as `payment_link.*` to a webhook endpoint that lists this type, otherwise as `order.*`.',
    receivers: 'endpoints',
    schema: 'PaymentLinkWebhookEvent',
  }),
  refundEnded: describeWebhook({
    operationId: 'refundEnded',
    summary: 'A refund has ended',
    cause: 'The refund became COMPLETED or FAILED. Its order stays COMPLETED.',
    receivers: 'all',
    schema: 'RefundWebhookEvent',
  }),
};
