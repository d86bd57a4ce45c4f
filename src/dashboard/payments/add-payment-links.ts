import { durationFromMs } from '@bufbuild/protobuf/wkt';
import { Type } from '@sinclair/typebox';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { toBuffer, toString } from 'qrcode';
import { OrderStatus, PaymentType } from '../../gen/gatehouse/v1/order_pb.js';
import { amountText } from '../../contract/amount-text.ts';
import { pathIn, pageMerchantOf, scopeOf } from '../access/page-context.ts';
import { ask, callOptions, panel } from '../ask.ts';
import type { Dashboard } from '../dashboard.ts';
import { emptyForm, readForm } from '../forms/read-form.ts';
import type { FormState } from '../forms/read-form.ts';
import { paymentLinks as amharic } from '../language/amharic/payment-links.ts';
import { paymentLinks as english } from '../language/english/payment-links.ts';
import { wordsFor } from '../language/words.ts';
import { momentOf } from '../moment-text.ts';
import { notFound } from '../page-problem.ts';
import { shellWords } from '../send-page.ts';
import { flash } from '../session/sign-in-state.ts';
import { amountProblem } from './amount-problem.ts';
import { isLink, mayChangeOrders, orderIdOf } from './add-order.ts';
import { orderRow, orderWords, statusText } from './order-words.ts';

const dictionary = { en: english, am: amharic };
type LinkWords = typeof english;

const NewLink = Type.Object({
  amount: Type.String({ maxLength: 20 }),
  currency: Type.String({ pattern: '^[A-Za-z]{3}$' }),
  reason: Type.String({ maxLength: 255 }),
  type: Type.Union([Type.Literal('LINK'), Type.Literal('QR')]),
  lifetime: Type.String({ pattern: '^[0-9]{3,7}$' }),
  order_number: Type.String({ maxLength: 64 }),
  customer_phone: Type.Optional(Type.String({ maxLength: 32 })),
});

const pageSize = 50;
/** The width of a QR code in pixels, enough for a poster. */
const pngPixels = 1_024;

/** The pages to create and see payment links. */
export function addPaymentLinks(app: FastifyInstance, dashboard: Dashboard): void {
  const { clients, sendPage, timeZone, assets, randomBytes, now } = dashboard;
  const path = '/m/:merchantId/:environment/links';

  const linkOf = async (request: FastifyRequest) => {
    const { order, checkoutUrl } = await clients.orders.getOrder(
      {
        ...scopeOf(request),
        key: { case: 'orderId', value: orderIdOf(request) },
        withCheckoutUrl: mayChangeOrders(request),
      },
      callOptions(request),
    );
    if (order === undefined || !isLink(order)) throw notFound('ORDER_NOT_FOUND');
    return { order, checkoutUrl };
  };

  app.get(path, async (request, reply) => {
    const words = wordsFor(request, dictionary);
    const { language } = request;
    const self = pathIn(pageMerchantOf(request), 'links');
    const { page } = request.query as Readonly<Record<string, unknown>>;
    const pageToken = typeof page === 'string' ? page.slice(0, 2048) : '';
    const links = await panel(request, async (options) => {
      const paymentTypes = [PaymentType.LINK, PaymentType.QR];
      const answer = await clients.orders.listOrders(
        { ...scopeOf(request), paymentTypes, pageSize, pageToken },
        options,
      );
      const writing = { words: wordsFor(request, orderWords), language, timeZone, wallets: request.wallets };
      return {
        rows: answer.orders.map((order) => orderRow(order, writing, now())),
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
        mayMake: mayChangeOrders(request),
      },
    });
  });

  const currenciesOf = async (request: FastifyRequest): Promise<readonly string[]> => {
    const { merchantId } = pageMerchantOf(request);
    return (await clients.merchants.getMerchant({ merchantId }, callOptions(request))).currencies;
  };

  const showForm = async (
    request: FastifyRequest,
    reply: FastifyReply,
    { form, status = 200, refused }: { form: FormState; status?: number; refused?: string },
  ): Promise<FastifyReply> => {
    const currencies = await currenciesOf(request);
    const words = wordsFor(request, dictionary);
    const links = pathIn(pageMerchantOf(request), 'links');
    reply.code(status);
    return sendPage(request, reply, {
      template: 'payments/new-link',
      title: words.form.title,
      area: 'links',
      words,
      self: `${links}/new`,
      view: {
        path: links,
        form,
        currencies,
        refused,
        types: Object.entries(words.form.types),
        lifetimes: Object.entries(words.form.lifetimes),
      },
    });
  };

  app.get(`${path}/new`, (request, reply) => {
    // The form contains the order_number, so that sending it twice creates one link.
    const order_number = `L-${randomBytes(6).toString('hex').toUpperCase()}`;
    const form = emptyForm({ type: 'LINK', lifetime: '86400', order_number });
    return showForm(request, reply, { form });
  });

  app.post(path, async (request, reply) => {
    const words = wordsFor(request, dictionary);
    const form = readForm(NewLink, request.body, shellWords[request.language].forms, words.form.issues);
    if (!form.ok) return showForm(request, reply, { form, status: 400 });
    const { value } = form;
    const answer = await ask(request, (options) =>
      clients.orders.registerOrder(
        {
          ...scopeOf(request),
          orderNumber: value.order_number,
          amount: value.amount,
          currency: value.currency.toUpperCase(),
          reason: value.reason,
          customerPhone: value.customer_phone ?? '',
          paymentType: PaymentType[value.type],
          sessionLifetime: durationFromMs(Number(value.lifetime) * 1000),
        },
        options,
      ),
    );
    if (!answer.ok) {
      const { reason, fields } = answer.refusal;
      const amount = amountProblem(value.amount, wordsFor(request, orderWords).amountProblems);
      const errors = errorsOf(reason, fields, words, amount);
      const refused = refusedFor(reason, words);
      return showForm(request, reply, {
        form: { ...form, errors },
        status: reason === 'INVALID_FIELDS' ? 400 : 409,
        ...(refused === undefined ? {} : { refused }),
      });
    }
    flash(request, { tone: 'good', text: words.made });
    return reply.redirect(pathIn(pageMerchantOf(request), `links/${answer.value.order?.orderId ?? ''}`), 303);
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
        mayCancel: mayChangeOrders(request) && order.status === OrderStatus.PENDING,
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

  const openLinkOf: typeof linkOf = async (request) => {
    const link = await linkOf(request);
    if (link.checkoutUrl === '') throw notFound('ORDER_NOT_PAYABLE');
    return link;
  };
}

/** The messages of the fields that core refused. */
function errorsOf(
  reason: string,
  fields: readonly { readonly field: string }[],
  words: LinkWords,
  amount: string,
): Readonly<Record<string, string>> {
  const issues: Readonly<Record<string, string>> = { ...words.form.issues, amount };
  const named = reason === 'ORDER_NUMBER_TAKEN' ? ['order_number'] : fields.map(({ field }) => field);
  return Object.fromEntries(named.map((name) => [name, issues[name] ?? words.form.wrong]));
}

/** The problems that no field can correct. */
function refusedFor(reason: string, words: LinkWords): string | undefined {
  if (reason === 'MERCHANT_SUSPENDED') return words.form.suspended;
  return reason === 'PRODUCTION_NOT_ACTIVATED' ? words.form.notActivated : undefined;
}
