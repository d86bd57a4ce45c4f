import type { FastifyInstance, FastifyRequest } from 'fastify';
import { toBuffer, toString } from 'qrcode';
import { OrderStatus, PaymentType } from '../../gen/gatehouse/v1/order_pb.js';
import { amountText } from '../../contract/amount-text.ts';
import { mayChange, pageMerchantOf, pathIn, scopeOf } from '../access/page-context.ts';
import { callOptions, loadPanel } from '../try-call.ts';
import type { Dashboard } from '../dashboard.ts';
import { paymentLinks as amharic } from '../language/amharic/payment-links.ts';
import { paymentLinks as english } from '../language/english/payment-links.ts';
import { wordsFor } from '../language/words.ts';
import { momentOf } from '../moment-text.ts';
import { notFound } from '../page-problem.ts';
import { isLink, orderIdOf } from './add-order.ts';
import { orderRow, orderWords, statusText } from './order-words.ts';

const dictionary = { en: english, am: amharic };

const pageSize = 50;
/** The width of a QR code in pixels, enough for a poster. */
const pngPixels = 1_024;

/** The list of payment links, and the page of one with its QR code. */
export function addPaymentLinks(app: FastifyInstance, dashboard: Dashboard): void {
  const { clients, sendPage, timeZone, assets, now } = dashboard;
  const path = '/m/:merchantId/:environment/links';

  const linkOf = async (request: FastifyRequest) => {
    const { order, checkoutUrl } = await clients.orders.getOrder(
      {
        ...scopeOf(request),
        key: { case: 'orderId', value: orderIdOf(request) },
        withCheckoutUrl: mayChange(request),
      },
      callOptions(request),
    );
    if (order === undefined || !isLink(order)) throw notFound('ORDER_NOT_FOUND');
    return { order, checkoutUrl };
  };
  /** The link while it can be paid, for a user who may see its URL. */
  const openLinkOf: typeof linkOf = async (request) => {
    const link = await linkOf(request);
    if (link.checkoutUrl === '') throw notFound('ORDER_NOT_PAYABLE');
    return link;
  };

  app.get(path, async (request, reply) => {
    const words = wordsFor(request, dictionary);
    const { language } = request;
    const self = pathIn(pageMerchantOf(request), 'links');
    const { page } = request.query as Readonly<Record<string, unknown>>;
    const pageToken = typeof page === 'string' ? page.slice(0, 2048) : '';
    const links = await loadPanel(request, async (options) => {
      const paymentTypes = [PaymentType.LINK, PaymentType.QR];
      const answer = await clients.orders.listOrders(
        { ...scopeOf(request), paymentTypes, pageSize, pageToken },
        options,
      );
      const writing = { words: wordsFor(request, orderWords), language, timeZone, wallets: request.wallets };
      return {
        rows: answer.orders.map((order) =>
          orderRow(order, answer.payerPhones[order.orderId], writing, now()),
        ),
        older:
          answer.nextPageToken === ''
            ? undefined
            : `${self}?page=${encodeURIComponent(answer.nextPageToken)}`,
      };
    });
    return sendPage(request, reply, {
      template: 'payments/links',
      title: words.title,
      area: 'links',
      words,
      view: {
        path: self,
        links,
        newest: pageToken === '' ? undefined : self,
        orderWords: wordsFor(request, orderWords),
        mayMake: mayChange(request),
      },
    });
  });

  app.get(`${path}/:orderId`, async (request, reply) => {
    const words = wordsFor(request, dictionary);
    const { language } = request;
    const { order, checkoutUrl } = await linkOf(request);
    const self = pathIn(pageMerchantOf(request), `links/${order.orderId}`);
    const status = statusText(order.status, wordsFor(request, orderWords));
    return sendPage(request, reply, {
      template: 'payments/link',
      title: order.orderNumber,
      area: 'links',
      words,
      scripts: [assets.live.path],
      view: {
        path: self,
        list: pathIn(pageMerchantOf(request), 'links'),
        order: pathIn(pageMerchantOf(request), `orders/${order.orderId}`),
        number: order.orderNumber,
        amount: amountText(order.amount, order.currency, language),
        reason: order.reason,
        status,
        over: status.name === 'pending' ? undefined : words.over[status.name],
        expires: momentOf(order.expireTime, language, timeZone),
        checkoutUrl,
        isPayable: order.status === OrderStatus.PENDING,
        mayCancel: mayChange(request) && order.status === OrderStatus.PENDING,
      },
    });
  });

  /** Polled by the open page to detect changes. */
  app.get(`${path}/:orderId/state`, async (request, reply) => {
    const { order } = await linkOf(request);
    return reply.send({
      state: `${OrderStatus[order.status]}-${order.lastEventSequence}`,
      isOver: order.status !== OrderStatus.PENDING,
    });
  });

  app.get(`${path}/:orderId/qr.svg`, async (request, reply) => {
    const { checkoutUrl } = await openLinkOf(request);
    return reply.type('image/svg+xml').send(await toString(checkoutUrl, { type: 'svg', margin: 4 }));
  });

  app.get(`${path}/:orderId/qr.png`, async (request, reply) => {
    const { order, checkoutUrl } = await openLinkOf(request);
    return reply
      .header('content-disposition', `attachment; filename="${order.orderId}.png"`)
      .type('image/png')
      .send(await toBuffer(checkoutUrl, { type: 'png', margin: 4, width: pngPixels }));
  });
}
