import { Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { request } from 'undici';
import { newRandomId } from '../../contract/public-id.ts';
import { Untestable } from './check.ts';
import type { GatewayProxy, PlacedOrder, Placement } from './gateway-proxy.ts';
import type { MadeUpOrder } from './made-up-events.ts';
import { waitFor } from './wait-for.ts';
import { parseJson } from '../../platform/parse-json.ts';

/** The merchant's shop, as certification sees it: through the proxy, and at the two URLs that the shop offers. */
export interface MerchantShop {
  /**
   * Has the shop place an order, and waits until its first request arrives at the proxy. `first`: what happens to it.
   * @throws Untestable when no request arrives
   */
  readonly place: (first?: Placement) => Promise<PlacedOrder>;
  /** Places an order, and waits until the gateway has registered it. @throws Untestable */
  readonly placeForGood: () => Promise<PlacedOrder>;
  /** @throws Untestable when the shop cannot say what it has fulfilled */
  readonly requireState: () => void;
  /** How often the shop has fulfilled the order. @throws Untestable when the shop does not say */
  readonly fulfilled: (orderNumber: string) => Promise<number>;
  /** The customer's visit to return_url and its redirects. @throws Untestable when a page is not the shop's or is missing */
  readonly visitReturnUrl: (order: PlacedOrder) => Promise<void>;
}

export interface MerchantShopOptions {
  readonly proxy: GatewayProxy;
  /** POST makes the shop place an order. Without it, a person places each order. */
  readonly orderUrl: URL | undefined;
  /** GET with order_number says how often the shop has fulfilled the order. */
  readonly stateUrl: URL | undefined;
  readonly webhookUrl: URL;
  /** Asks a person to place an order. */
  readonly ask: (line: string) => void;
  /** How long an order may take to arrive. */
  readonly arrivalMs: number;
  readonly stop: AbortSignal;
}

const answerMs = 15_000;
/** How many pages a visit opens that redirects lead to. */
const maxPages = 10;
const State = Type.Object({ fulfilled: Type.Integer({ minimum: 0 }) });

export function openMerchantShop(options: MerchantShopOptions): MerchantShop {
  const { proxy, orderUrl, stateUrl, webhookUrl, ask, arrivalMs, stop } = options;
  const signal = (): AbortSignal => AbortSignal.any([stop, AbortSignal.timeout(arrivalMs)]);

  const place = async (first: Placement = { kind: 'forward' }): Promise<PlacedOrder> => {
    proxy.begin(first);
    let problem = '';
    if (orderUrl === undefined) ask(`place an order in your shop now, within ${arrivalMs / 1000} s`);
    // The shop may answer only when its own requests are answered. If an order arrives, the answer does not matter.
    else
      void request(orderUrl, { method: 'POST', signal: signal() }).then(
        async ({ statusCode, body }) => {
          await body.dump();
          if (statusCode >= 400) problem = `. ${orderUrl.href} answered ${statusCode}`;
        },
        (error: unknown) => {
          problem = `. ${orderUrl.href} failed: ${messageOf(error)}`;
        },
      );
    const order = await waitFor(proxy, () => proxy.placed()[0], arrivalMs, stop);
    if (order !== undefined) return order;
    throw new Untestable(`no order arrived at ${proxy.origin} within ${arrivalMs / 1000} s${problem}`);
  };

  const requireState = (): URL => {
    if (stateUrl !== undefined) return stateUrl;
    throw new Untestable('needs --state-url, which says what your shop has fulfilled');
  };

  return {
    place,
    requireState,
    async placeForGood() {
      const order = await place();
      const answer = await waitFor(proxy, () => proxy.answers()[0], arrivalMs, stop);
      if (answer?.status === 201) return order;
      throw new Untestable(`the gateway did not register ${order.orderNumber || 'the order'}`);
    },
    async fulfilled(orderNumber) {
      const state = requireState();
      const url = new URL(state);
      url.searchParams.set('order_number', orderNumber);
      const answer = await request(url, {
        signal: AbortSignal.any([stop, AbortSignal.timeout(answerMs)]),
      })
        .then(async ({ statusCode, body }) => ({ statusCode, text: await body.text() }))
        .catch(untestable(state.href));
      if (answer.statusCode === 404) return 0;
      const json = parseJson(answer.text);
      if (answer.statusCode === 200 && Value.Check(State, json)) return json.fulfilled;
      throw new Untestable(
        `${state.href} answered ${answer.statusCode} without a number in "fulfilled". See docs/certification.md`,
      );
    },
    async visitReturnUrl({ fields }) {
      const own = [webhookUrl, orderUrl, stateUrl].flatMap((url) => (url === undefined ? [] : [url.origin]));
      let page = fields.return_url;
      // A customer's browser follows redirects. The page at their end may be the one that fulfils.
      for (let pages = 1; pages <= maxPages; pages += 1) {
        // The URL is the shop's choice. Another host may be any machine that this one can reach.
        if (!URL.canParse(page) || !own.includes(new URL(page).origin))
          throw new Untestable(
            `the return_url ${pages === 1 ? 'is not' : 'redirects to a page that is not'} on the host of --webhook-url, --order-url or --state-url`,
          );
        const { statusCode, headers } = await request(page, {
          signal: AbortSignal.any([stop, AbortSignal.timeout(answerMs)]),
        })
          .then(async ({ body, ...head }) => {
            await body.dump();
            return head;
          })
          .catch(untestable('the page of the return_url'));
        if (statusCode >= 200 && statusCode < 300) return;
        const { location } = headers;
        if (statusCode < 300 || statusCode >= 400 || typeof location !== 'string')
          throw new Untestable(`the page of the return_url answered ${statusCode}`);
        page = URL.canParse(location, page) ? new URL(location, page).href : location;
      }
      throw new Untestable(`the return_url redirects more than ${maxPages - 1} times`);
    },
  };
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Reports a check as not tested when a request of the certification got no answer. That says nothing about the shop's fulfilment. */
const untestable =
  (what: string) =>
  (error: unknown): never => {
    throw new Untestable(`${what} failed: ${messageOf(error)}`);
  };

/** The order in the form of its webhooks. `createdAt`: when the webhooks say that it was registered. */
export function webhookOrder({ orderNumber, fields, isDirect }: PlacedOrder, createdAt: Date): MadeUpOrder {
  const { amount, currency, reason, customer_phone: customerPhone, phone } = fields;
  return {
    order_id: newRandomId('ord', createdAt),
    order_number: orderNumber,
    amount,
    currency,
    reason,
    customer_phone: isDirect ? phone : customerPhone,
    payment_type: isDirect ? 'DIRECT' : 'API',
    createdAt,
  };
}
