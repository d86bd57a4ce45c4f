import { Type } from '@sinclair/typebox';
import type { Static } from '@sinclair/typebox';

/** What a webhook says, in the order in which it is written. Spec, "Webhooks"; `data` is exactly what verify answers. */
export const webhookSchema = Type.Object(
  {
    id: Type.String({
      description: "The event's id, the same in every repeat; the header `webhook-id` says it too.",
      examples: ['evt_01jd4r7c2mf9vx3k8h5w0q6tzn'],
    }),
    type: Type.Unsafe<WebhookType>({
      type: 'string',
      enum: ['order.completed', 'order.failed', 'order.expired', 'webhook.test'],
      description:
        'What happened. New types may come: answer 2xx to one that you do not know, and ignore it.',
      examples: ['order.completed'],
    }),
    created_at: Type.String({
      format: 'date-time',
      description: 'When the order ended: ISO 8601 in UTC with milliseconds.',
      examples: ['2025-11-20T09:31:12.408Z'],
    }),
    environment: Type.Unsafe<'sandbox' | 'production'>({
      type: 'string',
      enum: ['sandbox', 'production'],
      description: 'The environment the order lives in.',
      examples: ['sandbox'],
    }),
    sequence: Type.Integer({
      description: 'Grows with every event of an order. Not all events are sent, so numbers are missing.',
      examples: [3],
    }),
    previous_status: Type.String({ description: "The order's status before.", examples: ['PENDING'] }),
    data: Type.Ref('PaymentOrder#'),
  },
  { $id: 'WebhookEvent', title: 'Webhook' },
);

/** What merchants are told of. The last is sent on request only. */
type WebhookType = 'order.completed' | 'order.failed' | 'order.expired' | 'webhook.test';

type WebhookFields = Static<typeof webhookSchema>;

/** A webhook with its order. */
export type WebhookJson<Order> = {
  readonly [Field in keyof WebhookFields]: Field extends 'data' ? Order : WebhookFields[Field];
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
    'One or more signatures of id, timestamp and body by Standard Webhooks, with spaces between.',
    'v1,AEJ0kz2fzWOvkPI3yDwXKkzdWZD/tlEGrih0y0AQuwQ=',
  ),
  'X-SVC-HMAC-Signature': header(
    'HMAC-SHA256 of the exact bytes of the body, hexadecimal in lower case; the key is your secret as it was shown.',
    '01de5584ff79bce346b01c08d6b520df0c50ed44d22763d1e544ceed29699be6',
  ),
};

/** OpenAPI's description of what is sent to a webhook_url. */
export const webhooksDescription = {
  orderEnded: {
    post: {
      operationId: 'orderEnded',
      tags: ['Webhooks'],
      summary: 'An order has ended',
      description:
        'Sent to the `webhook_url` of the order, at least once and in order, until it is answered 2xx within 15 seconds. ' +
        'Check a signature before you believe it.',
      // Gatehouse sends it: there is no key in it, and the signatures are what proves it.
      security: [],
      parameters: Object.entries(signatures).map(([name, each]) => ({ in: 'header', name, ...each })),
      requestBody: {
        required: true,
        content: { 'application/json': { schema: { $ref: '#/components/schemas/WebhookEvent' } } },
      },
      responses: {
        '2XX': { description: 'You have it. It is not sent again.' },
        '410': { description: 'You want no more of them: nothing is sent to this host until it is resumed.' },
        default: { description: 'It is sent again later: 13 times within 76 hours.' },
      },
    },
  },
};
