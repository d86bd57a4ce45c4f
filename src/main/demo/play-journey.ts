import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { StrayPaymentStatus } from '../../gen/gatehouse/v1/stray_payment_service_pb.js';
import { openDemoCustomer } from './customer.ts';
import { OrderEventType } from '../../gen/gatehouse/v1/order_pb.js';
import { DemoStopped } from './demo-stopped.ts';
import { eventHop, exchangeHop, promptHop, shopHops, verifyHop, webhookHop } from './hops.ts';
import type { Hop } from './hops.ts';
import type { Journey } from './journeys.ts';
import type { Observer } from './observer.ts';
import type { SandboxShop, ShopCall } from './sandbox-shop.ts';
import type { WebhookReceiver } from './webhook-receiver.ts';

export interface JourneyParts {
  readonly shop: SandboxShop;
  readonly receiver: WebhookReceiver;
  readonly observer: Observer;
  readonly now: () => Date;
  readonly print: (line: string) => void;
  readonly style: {
    readonly strong: (text: string) => string;
    readonly faint: (text: string) => string;
  };
}

const deadlineMs = 120_000;
const pollIntervalMs = 100;
const endTypes: ReadonlySet<OrderEventType> = new Set([
  OrderEventType.PAYMENT_DECLINED,
  OrderEventType.COMPLETED,
  OrderEventType.FAILED,
  OrderEventType.EXPIRED,
]);
const whereWidth = 18;
const detailWidth = 90;

/** Plays one payment to its end and prints all its hops in the order of their times. @throws DemoStopped */
export async function playJourney(journey: Journey, parts: JourneyParts): Promise<void> {
  const { shop, receiver, observer, now } = parts;
  const time = now()
    .toISOString()
    .replace(/[^0-9]/g, '');
  // Two demos may begin in the same millisecond.
  const orderNumber = `demo-${time}-${randomInt(1_000_000)}`;
  const registration =
    journey.hasWebhook || journey.isHosted ? await registerOrder(journey, orderNumber, parts) : undefined;
  const started =
    journey.isHosted && registration !== undefined
      ? await payAtCheckout(journey, registration, parts)
      : await startPayment(journey, orderNumber, parts);
  if (started === undefined) return;
  const { call, phone } = started;
  const startedAt = (registration ?? call).startedAt.getTime();
  const show = (hop: Hop): void => printHop(hop, startedAt, parts);

  // After a refusal, a customer at the checkout could try again, so the order stays open.
  const decided = await untilFound('the payment is decided', now, async () => {
    const order = await observer.order(orderNumber);
    const isOver = order.events.some(({ type }) => endTypes.has(type));
    return isOver ? order.events : undefined;
  });
  const refund =
    journey.refund === undefined ? undefined : await refundOrder(journey.refund, orderNumber, parts);
  const events = refund === undefined ? decided : (await observer.order(orderNumber)).events;
  const paymentAttemptId =
    events.flatMap(({ paymentAttempt }) => paymentAttempt?.paymentAttemptId ?? [])[0] ?? '';
  const stray = journey.isStray ? await waitForReversal(paymentAttemptId, parts) : undefined;
  const { exchanges } = await observer.attempt(paymentAttemptId);
  const expected = journey.hasWebhook ? (refund === undefined ? 1 : 2) : 0;
  const webhooks = await untilFound('the shop has its webhooks', now, () => {
    const own = receiver.webhooks.filter((each) => each.orderNumber === orderNumber);
    return Promise.resolve(own.length >= expected ? own : undefined);
  });
  const payment = { paymentAttemptId, phone, since: new Date(startedAt) };
  const prompts = await observer.prompts(payment);
  const hops = [
    ...(registration === undefined ? [] : shopHops(registration, 'on disk')),
    ...(call === registration ? [] : shopHops(call, 'on disk, and the payment has started')),
    ...events.map(eventHop),
    ...exchanges.map(exchangeHop),
    ...prompts.map(promptHop),
    ...(refund === undefined ? [] : refundHops(refund)),
    ...webhooks.map(webhookHop),
  ];
  hops.sort((a, b) => a.at.getTime() - b.at.getTime());
  hops.forEach(show);
  if (stray !== undefined) show(stray);

  const verified = await shop.verify(orderNumber);
  show(verifyHop(verified, verified.orderStatus));
  printLedger(await observer.charges(payment), parts);
}

const refundHops = ({ call, verified }: Awaited<ReturnType<typeof refundOrder>>): Hop[] => [
  ...shopHops(call, 'on disk, and the wallet is asked next'),
  verifyHop(verified, verified.refundStatus),
];

function printLedger(
  charges: Awaited<ReturnType<JourneyParts['observer']['charges']>>,
  { print, style }: JourneyParts,
): void {
  const kept = charges.map(
    ({ amount, currency, reversed }) =>
      `${amount} ${currency} debited${reversed === '0' ? '' : `, ${reversed} ${currency} reversed`}`,
  );
  print(
    `  ${''.padStart(9)}  ${"wallet's ledger".padEnd(whereWidth)}${style.strong(kept.join('; ') || 'nothing debited')}`,
  );
}

async function registerOrder(
  { amount, currency, payers, hasWebhook }: Journey,
  orderNumber: string,
  { shop, receiver }: JourneyParts,
): Promise<ShopCall> {
  const call = await shop.register({
    order_number: orderNumber,
    amount,
    currency,
    reason: 'Coffee beans',
    customer_phone: payers[0]?.phone,
    return_url: 'https://shop.example/thanks',
    ...(hasWebhook ? { webhook_url: receiver.url } : {}),
  });
  if (call.status === 201) return call;
  throw new DemoStopped(`${call.path} answered ${call.status} ${JSON.stringify(call.answer)}`);
}

/** The customer pays on the wallet's page. Each checkout gets another phone number, because a phone with an open prompt would be busy. */
async function payAtCheckout(
  { payers }: Journey,
  registration: ShopCall,
  { shop, now }: JourneyParts,
): Promise<{ call: ShopCall; phone: string }> {
  const [{ phone, option }] = payers as [Journey['payers'][number]];
  const url = shop.checkoutUrlOf(registration);
  const customer = openDemoCustomer(now);
  await customer.choose(url, option, `+2519${String(now().getTime()).slice(-8)}`);
  await customer.payAtWallet(url, phone);
  return { call: registration, phone };
}

/** Undefined when no phone may be prompted now. The reason has been printed then. */
async function startPayment(
  { payers, amount, currency }: Journey,
  orderNumber: string,
  { shop, print }: JourneyParts,
): Promise<{ call: ShopCall; phone: string } | undefined> {
  for (const { phone, option } of payers) {
    const body = { order_number: orderNumber, amount, currency, phone };
    const call = await shop.startPayment(option, body);
    if (call.status === 201) return { call, phone };
    if (call.status !== 429)
      throw new DemoStopped(`${call.path} answered ${call.status} ${JSON.stringify(call.answer)}`);
  }
  print('  The phones of this payment got too many prompts. Try again in 10 minutes.');
  return undefined;
}

/** Refunds a part of the order or all of it, and waits until the refund has ended. */
async function refundOrder(amount: string, orderNumber: string, { shop, now }: JourneyParts) {
  const refundNumber = `${orderNumber}-refund`;
  const call = await shop.refund({
    order_number: orderNumber,
    refund_number: refundNumber,
    amount,
    reason: 'The beans were old',
  });
  if (call.status !== 201)
    throw new DemoStopped(`${call.path} answered ${call.status} ${JSON.stringify(call.answer)}`);
  const verified = await untilFound('the refund has ended', now, async () => {
    const answer = await shop.verifyRefund(refundNumber);
    return answer.refundStatus === 'PENDING' ? undefined : answer;
  });
  return { call, verified };
}

async function waitForReversal(paymentAttemptId: string, { observer, now }: JourneyParts): Promise<Hop> {
  const stray = await untilFound('the money is reversed', now, async () => {
    const found = await observer.strayPayment(paymentAttemptId);
    return found?.status === StrayPaymentStatus.REVERSED ? found : undefined;
  });
  const { strayPaymentId, amount, currency } = stray;
  return {
    at: now(),
    where: 'core',
    what: `stray payment REVERSED: the wallet confirms the reversal of ${amount} ${currency}`,
    details: [strayPaymentId],
  };
}

async function untilFound<T>(what: string, now: () => Date, find: () => Promise<T | undefined>): Promise<T> {
  const deadline = now().getTime() + deadlineMs;
  for (;;) {
    const found = await find();
    if (found !== undefined) return found;
    if (now().getTime() > deadline)
      throw new DemoStopped(
        `timed out after two minutes of waiting until ${what}. To find the cause, run: gatehouse doctor`,
      );
    await delay(pollIntervalMs);
  }
}

function printHop(
  { at, where, what, details }: Hop,
  startedAt: number,
  { print, style }: JourneyParts,
): void {
  const seconds = `${(Math.max(0, at.getTime() - startedAt) / 1000).toFixed(3)} s`;
  print(`  ${seconds.padStart(9)}  ${where.padEnd(whereWidth)}${what}`);
  for (const line of details.flatMap(wrapText))
    print(style.faint(`  ${''.padStart(9)}  ${''.padEnd(whereWidth)}${line}`));
}

/** Wraps text to the width of an ordinary terminal. JSON breaks after its commas. */
function wrapText(text: string): string[] {
  const lines = [''];
  for (const part of text.split(/(?<=,)(?=")/)) {
    const last = lines.at(-1) ?? '';
    if (last !== '' && last.length + part.length > detailWidth) lines.push(part);
    else lines[lines.length - 1] = last + part;
  }
  return lines;
}
