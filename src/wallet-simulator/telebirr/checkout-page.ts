import type { FastifyInstance, FastifyReply } from 'fastify';
import { escapeHtml } from '../html.ts';
import type { Payment } from '../payment.ts';
import type { Payments } from '../payments.ts';
import type { WalletContext } from '../simulated-wallet.ts';
import type { TelebirrCredentials } from './credentials.ts';
import { birr, noticeStatus } from './orders.ts';
import { isSigned } from './signing.ts';

export interface CheckoutPageOptions {
  readonly context: WalletContext;
  readonly payments: Payments;
  readonly credentials: TelebirrCredentials;
}

const headers = {
  'content-type': 'text/html; charset=utf-8',
  // Redirects after a form are form actions, and lead to the shop.
  'content-security-policy':
    "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; frame-ancestors 'none'",
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

type Query = Readonly<Record<string, string | undefined>>;

/**
 * The page that a payer opens to pay an order: `GET /payment/web/paygate` with the merchant's signature, which leads to
 * `/pay/<prepay id>`. There the payer types a number and confirms or cancels. Then the browser returns to the shop.
 */
export function addCheckoutPage(
  app: FastifyInstance,
  { context, payments, credentials }: CheckoutPageOptions,
): void {
  const { basePath, now } = context;
  const byPrepayId = (id = ''): Payment | undefined => payments.findByDetail('prepay_id', id);
  const send = (reply: FastifyReply, status: number, html: string): FastifyReply =>
    reply.code(status).headers(headers).send(html);
  const refuse = (reply: FastifyReply, why: string): FastifyReply =>
    send(reply, 400, page(basePath, 'Payment not possible', `<p role="alert">${escapeHtml(why)}</p>`));

  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string' },
    (_request, body, done) => done(null, body),
  );

  app.get<{ Querystring: Query }>('/payment/web/paygate', (request, reply) => {
    const { appid, merch_code, nonce_str, prepay_id, timestamp, sign } = request.query;
    // Some clients do not encode the plus signs of the signature, which arrive as spaces.
    const signed = { appid, merch_code, nonce_str, prepay_id, timestamp, sign: sign?.replaceAll(' ', '+') };
    if (!isSigned(signed, credentials)) {
      return refuse(reply, 'The link is not signed by the shop. Go back to the shop and start again.');
    }
    const payment = byPrepayId(prepay_id);
    if (payment === undefined)
      return refuse(reply, 'There is no such order. Go back to the shop and start again.');
    return reply.redirect(`${basePath}/pay/${String(prepay_id)}`, 303);
  });

  app.get<{ Params: { id: string } }>('/pay/:id', (request, reply) => {
    const payment = byPrepayId(request.params.id);
    if (payment === undefined)
      return refuse(reply, 'There is no such order. Go back to the shop and start again.');
    if (payment.state.status === 'open') {
      const isPaying = payment.promptedAt !== undefined;
      return send(reply, 200, isPaying ? waitingPage(basePath, payment) : formPage(basePath, payment));
    }
    return send(reply, 200, resultPage(basePath, payment, now()));
  });

  app.post<{ Params: { id: string }; Body: string }>('/pay/:id', (request, reply) => {
    const payment = byPrepayId(request.params.id);
    if (payment === undefined)
      return refuse(reply, 'There is no such order. Go back to the shop and start again.');
    const form = new URLSearchParams(request.body);
    if (payment.state.status === 'open' && payment.promptedAt === undefined) {
      if (form.get('action') === 'cancel') payments.endAndCallBack(payment, 'PAY_FAILED');
      else {
        const payer = readPhone(form.get('phone') ?? '');
        if (payer === undefined) {
          const problem = 'Enter the number of a telebirr account, such as 0911 22 33 44.';
          return send(reply, 400, formPage(basePath, payment, problem, form.get('phone') ?? ''));
        }
        payments.confirm(payment, payer, false);
        payments.scheduleOutcome(payment);
      }
    }
    return reply.redirect(`${basePath}/pay/${request.params.id}`, 303);
  });
}

/** A number of Ethio telecom as a person types it, as digits with the country code. */
function readPhone(text: string): string | undefined {
  const digits = text.replace(/[\s()-]/g, '').replace(/^\+/, '');
  const national = /^(?:251|0)?(9[0-9]{8})$/.exec(digits)?.[1];
  return national === undefined ? undefined : `251${national}`;
}

function page(basePath: string, title: string, body: string, head = ''): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)} · telebirr simulator</title>
<link rel="stylesheet" href="/wallet-page.css">
<link rel="icon" href="data:,">
${head}</head>
<body class="wallet-page" data-wallet="${escapeHtml(basePath)}">
<header><span class="brand">telebirr</span> <span class="tag">simulator</span></header>
<main>
<h1>${escapeHtml(title)}</h1>
${body}
</main>
<footer>This page simulates telebirr. No real money moves.</footer>
</body>
</html>
`;
}

const summary = (payment: Payment): string =>
  `<p class="amount">${escapeHtml(birr(payment.amount))} <small>${escapeHtml(payment.currency)}</small></p>
<p class="for">${escapeHtml(payment.description)}</p>`;

function formPage(basePath: string, payment: Payment, problem?: string, typed = ''): string {
  const id = String(payment.details['prepay_id']);
  const error =
    problem === undefined ? '' : `<p class="problem" id="problem" role="alert">${escapeHtml(problem)}</p>`;
  const invalid = problem === undefined ? '' : ' aria-invalid="true" aria-describedby="problem"';
  return page(
    basePath,
    'Confirm payment',
    `${summary(payment)}
<form method="post" action="${basePath}/pay/${escapeHtml(id)}">
<label for="phone">Mobile number</label>
<input id="phone" name="phone" type="tel" inputmode="tel" autocomplete="tel" placeholder="0911 22 33 44" value="${escapeHtml(typed)}" required${invalid}>
${error}<button class="approve" name="action" value="pay">Pay ${escapeHtml(birr(payment.amount))} ETB</button>
<button class="plain" name="action" value="cancel" formnovalidate>Cancel</button>
</form>
<p class="hint">No PIN is needed here. <code>0910 0000 NN</code> selects an outcome: 00 pays, 01 has too little money, 04 never answers.
Every other number pays.</p>`,
  );
}

function waitingPage(basePath: string, payment: Payment): string {
  return page(
    basePath,
    'Waiting for telebirr',
    `${summary(payment)}
<p role="status">The payment from +${escapeHtml(payment.payer)} is being processed. This page continues by itself.</p>`,
    '<meta http-equiv="refresh" content="1">\n',
  );
}

/** The result. The browser returns to the shop by itself, with parameters that a shop must not trust. */
function resultPage(basePath: string, payment: Payment, now: Date): string {
  const isPaid = payment.state.status === 'completed';
  const isClosed = payment.state.status === 'failed' && payment.state.code === 'ORDER_CLOSED';
  const url = returnUrl(payment, now);
  const title = isPaid ? 'Payment successful' : isClosed ? 'Order closed' : 'Payment failed';
  const receipt = isPaid ? `<p>Receipt ${escapeHtml(payment.reference)}</p>` : '';
  const link =
    url === undefined
      ? '<p>You can close this page.</p>'
      : `<p><a class="button" href="${escapeHtml(url)}">Return to the shop</a></p>`;
  const refresh =
    url === undefined ? '' : `<meta http-equiv="refresh" content="2; url=${escapeHtml(url)}">\n`;
  return page(basePath, title, `${summary(payment)}\n${receipt}\n${link}`, refresh);
}

function returnUrl(payment: Payment, now: Date): string | undefined {
  const { redirect_url: base } = payment.details;
  if (typeof base !== 'string' || !URL.canParse(base) || !/^https?:/.test(base)) return undefined;
  const url = new URL(base);
  url.searchParams.set('merch_order_id', payment.requestId);
  url.searchParams.set('payment_order_id', String(payment.details['payment_order_id']));
  url.searchParams.set('trade_status', noticeStatus(payment));
  url.searchParams.set('total_amount', birr(payment.amount));
  url.searchParams.set('trans_currency', payment.currency);
  url.searchParams.set('notify_time', String(now.getTime()));
  return url.href;
}
