import { counted } from '../../../contract/counted.ts';

/** The pages of webhook endpoints. */
export const webhookEndpoints = {
  title: 'Webhook endpoints',
  one: 'Webhook endpoint',
  lead: 'A webhook endpoint is a URL that receives the events of all your orders and refunds in this environment, including direct payments and payment links. The webhook_url of an order is one more receiver, for that order.',
  empty: 'No webhook endpoints yet.',
  everyType: 'Every type',
  columns: { url: 'URL', types: 'Types', state: 'State', pending: 'Pending', lastResult: 'Latest result' },
  waitsForSecret: 'Waits for a signing secret',
  create: {
    title: 'Create a webhook endpoint',
    lead: 'Its signing secret is shown once, after it is created.',
    submit: 'Create endpoint',
  },
  url: 'URL',
  urlHint: 'It is on the public internet. In production it starts with https://.',
  description: 'Description',
  descriptionHint: 'A note for your colleagues. Optional.',
  types: 'Types of event',
  typesHint:
    'Choose none to receive every type, including types of later versions. The end of a payment link arrives once: as payment_link.* ' +
    'if you choose that type, otherwise as order.*.',
  urlRefused:
    'This URL cannot receive webhooks of this environment. Enter a complete URL, such as https://shop.example/webhooks.',
  urlTaken: 'Another webhook endpoint has this URL. Change that one.',
  tooMany: 'You have ten webhook endpoints in this environment. Delete one first.',
  created: 'Your webhook endpoint is created',
  updated: 'The endpoint is changed. Pending deliveries go to its URL.',
  paused: 'The endpoint is paused. Its deliveries are kept.',
  resumed:
    'The endpoint is resumed. Due deliveries are sent now. The deliveries of one order keep their sequence.',
  deleted: (url: string) => `The endpoint ${url} is deleted. Its pending deliveries are abandoned.`,
  facts: { state: 'State', pending: 'Pending deliveries', lastResult: 'Latest result', created: 'Created' },
  history: 'Show its deliveries',
  change: { title: 'Settings', submit: 'Save' },
  test: 'Send test',
  testLead:
    'Sends an event of type webhook.test, about an order that does not exist, signed with its secret.',
  pause: {
    open: 'Pause',
    body: 'Nothing is sent until you resume it. Its deliveries are kept.',
    reason: 'Reason',
    reasonHint: 'Shown with the endpoint while it is paused.',
    submit: 'Pause endpoint',
  },
  resume: 'Resume endpoint',
  secret: {
    title: 'Signing secret',
    lead: 'It signs the webhooks of this endpoint alone.',
    none: 'No secret was shown yet, so its deliveries wait. They are sent in order when you create one.',
    create: 'Create secret',
    rotate: 'Create a new secret',
    rotateBody:
      'The new secret signs webhook-signature at once, beside the current secret. It becomes current after 24 hours, or when you promote it.',
    signsAll: 'It is current. Every webhook of the endpoint is signed with it.',
  },
  remove: {
    open: 'Delete',
    body: 'Nothing is sent to it any more. Its pending deliveries are abandoned and stay visible. This cannot be undone.',
    submit: 'Delete endpoint',
  },
  awaited: {
    title: 'Webhooks wait for a signing secret',
    orders: (count: string) =>
      `${counted(count, 'delivery waits', 'deliveries wait')} for the webhook_url of orders, until you create a signing secret.`,
    endpoint: (count: string) =>
      `${counted(count, 'delivery waits', 'deliveries wait')} for a webhook endpoint, until you create its signing secret.`,
    create: 'Create a signing secret',
  },
};
