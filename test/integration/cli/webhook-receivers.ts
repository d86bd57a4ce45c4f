import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { listenLocally } from '../../support/listen-locally.ts';
import { orderTypes, refundTypes } from '../../../src/cli/certify/made-up-events.ts';
import {
  verifySvcSignature,
  verifyWebhook,
  WebhookVerificationError,
} from '../../../clients/typescript/src/gatehouse-client.ts';
import type { ReceivedWebhook, WebhookEvent } from '../../../clients/typescript/src/gatehouse-client.ts';

export interface Request {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** The status of the answer. A rejection closes the connection without one. */
export type Receive = (request: Request) => Promise<number>;

export interface RunningReceiver {
  readonly url: string;
  readonly close: () => Promise<void>;
}

export async function startWebhookReceiver(receive: Receive): Promise<RunningReceiver> {
  const server = createServer((message, response) => {
    const answer = async (): Promise<void> => {
      const { method = '', headers } = message;
      const status = await receive({ method, headers, body: await buffer(message) });
      response.writeHead(status, status === 308 ? { location: '/hook/' } : {}).end();
    };
    answer().catch(() => message.socket.destroy());
  });
  const { origin, close } = await listenLocally(server);
  return { url: `${origin}/hook`, close };
}

type Handle = (event: WebhookEvent) => number;
type Verify = (webhook: ReceivedWebhook) => Promise<WebhookEvent>;

/** A correct receiver, unless one of its parts is replaced. */
const receiver =
  (secrets: readonly string[], handle: Handle = () => 204, verify: Verify = verifyWebhook): Receive =>
  async ({ method, headers, body }) => {
    if (method !== 'POST') return 405;
    try {
      return handle(await verify({ headers, body, secrets }));
    } catch (error) {
      if (error instanceof WebhookVerificationError) return 401;
      throw error;
    }
  };

/** A correct receiver, as a merchant writes it with the client library. It handles each event once. */
export function goodReceiver(secrets: readonly string[]): Receive {
  const handled = new Set<string>();
  return receiver(secrets, ({ id }) => {
    handled.add(id);
    return 204;
  });
}

const secondsOf = ({ headers }: ReceivedWebhook): number =>
  Number((headers as IncomingHttpHeaders)['webhook-timestamp']);
const nowSeconds = (): number => Date.now() / 1000;

/** As many turns of the event loop as a slow database would take. */
async function manyTurns(): Promise<void> {
  for (let turn = 0; turn < 50; turn += 1) await new Promise((done) => setImmediate(done));
}

const withoutRefunds = Object.keys(orderTypes);
const knownTypes = [...withoutRefunds, ...Object.keys(refundTypes)];
const knownFields = ['id', 'type', 'created_at', 'environment', 'sequence', 'previous_status', 'data'];

const refuseIf =
  (status: number, isRefused: (event: WebhookEvent) => boolean): Handle =>
  (event) =>
    isRefused(event) ? status : 204;

/** Receivers with one fault each, by the check that names it. */
export const brokenReceivers: Readonly<Record<string, (secrets: readonly string[]) => Receive>> = {
  answers_in_time: () => () => new Promise<never>(() => {}),
  no_redirect: () => async () => 308,
  accepts_genuine: (secrets) =>
    receiver(
      secrets,
      refuseIf(404, ({ type }) => type !== 'webhook.test'),
    ),
  every_type: (secrets) =>
    receiver(
      secrets,
      refuseIf(400, ({ type }) => !withoutRefunds.includes(type)),
    ),
  unknown_type: (secrets) =>
    receiver(
      secrets,
      refuseIf(400, ({ type }) => !knownTypes.includes(type)),
    ),
  unknown_fields: (secrets) =>
    receiver(
      secrets,
      refuseIf(400, (event) => Object.keys(event).some((name) => !knownFields.includes(name))),
    ),
  raw_body: (secrets) =>
    receiver(secrets, undefined, (webhook) =>
      verifyWebhook({ ...webhook, body: JSON.stringify(JSON.parse(String(webhook.body))) }),
    ),
  utf8_body: (secrets) =>
    receiver(secrets, undefined, (webhook) =>
      verifyWebhook({ ...webhook, body: Buffer.from(webhook.body).toString('latin1') }),
    ),
  reordered_orders: (secrets) => {
    let latest = '';
    return receiver(secrets, ({ created_at: at }) => {
      if (at < latest) return 409;
      latest = at;
      return 204;
    });
  },
  late_webhook: (secrets) =>
    receiver(
      secrets,
      refuseIf(400, ({ created_at: at }) => Date.now() - Date.parse(at) > 24 * 60 * 60_000),
    ),
  parallel_webhooks: (secrets) => {
    const receive = receiver(secrets);
    let isBusy = false;
    return async (request) => {
      if (isBusy) return 503;
      isBusy = true;
      await manyTurns();
      const status = await receive(request);
      isBusy = false;
      return status;
    };
  },
  duplicate: (secrets) => {
    const handled = new Set<string>();
    return receiver(secrets, ({ id }) => {
      if (handled.has(id)) return 409;
      handled.add(id);
      return 204;
    });
  },
  several_signatures: (secrets) =>
    receiver(secrets, undefined, (webhook) => {
      const signature = String((webhook.headers as IncomingHttpHeaders)['webhook-signature']);
      if (signature.includes(' ')) throw new WebhookVerificationError('no_match');
      return verifyWebhook(webhook);
    }),
  secret_rotation: (secrets) => receiver(secrets.slice(0, 1)),
  forged_signature:
    () =>
    async ({ method }) =>
      method === 'POST' ? 204 : 405,
  missing_signature: (secrets) => {
    const receive = receiver(secrets);
    return (request) =>
      request.method === 'POST' && !request.headers['webhook-signature']
        ? Promise.resolve(204)
        : receive(request);
  },
  replayed_timestamp: (secrets) =>
    receiver(secrets, undefined, async (webhook) => {
      const seconds = secondsOf(webhook);
      if (!(Math.abs(nowSeconds() - seconds) <= 300)) throw new WebhookVerificationError('too_old');
      return verifySvcSignature(webhook);
    }),
  stale_timestamp: (secrets) =>
    receiver(secrets, undefined, (webhook) => verifyWebhook({ ...webhook, toleranceSeconds: Infinity })),
  future_timestamp: (secrets) =>
    receiver(secrets, undefined, (webhook) => {
      const seconds = secondsOf(webhook);
      const isAhead = seconds > nowSeconds();
      return verifyWebhook(isAhead ? { ...webhook, now: new Date(seconds * 1000) } : webhook);
    }),
  malformed_signature:
    (secrets) =>
    async ({ method, headers, body }) => {
      if (method !== 'POST') return 405;
      const [id, timestamp, sent] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) =>
        String(headers[name] ?? ''),
      );
      if (!sent || Math.abs(nowSeconds() - Number(timestamp)) > 300) return 401;
      const isGenuine = secrets.some((secret) => {
        const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
        const expected = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest();
        // Throws when the lengths differ.
        return sent
          .split(' ')
          .some((each) => timingSafeEqual(Buffer.from(each.slice(3), 'base64'), expected));
      });
      return isGenuine ? 204 : 401;
    },
  only_post: (secrets) => {
    const receive = receiver(secrets);
    return (request) => (request.method === 'GET' ? Promise.resolve(200) : receive(request));
  },
};
