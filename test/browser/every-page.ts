import type { Page } from 'playwright-core';
import { Environment } from '../../src/gen/gatehouse/v1/order_pb.js';
import type { CheckoutOrders, CheckoutOrder, OwnOrder } from '../support/checkout-orders.ts';

/** Brings a customer's browser to one of the pages. */
export type Visit = (page: Page, orders: CheckoutOrders, origin: string) => Promise<void>;

async function open(page: Page, orders: CheckoutOrders, own: OwnOrder = {}): Promise<CheckoutOrder> {
  const order = await orders.register(own);
  await page.goto(order.url);
  return order;
}

async function pay(page: Page, orders: CheckoutOrders, own: OwnOrder = {}): Promise<CheckoutOrder> {
  const order = await open(page, orders, own);
  await choose(page, 'walleta_ussd');
  await page.locator('.sheet form').first().locator('button').click();
  await page.locator('h1').waitFor();
  await page.waitForSelector('.phone-mark');
  return order;
}

const choose = (page: Page, option: string) => page.locator(`input[value=${option}]`).check();

/** Without the automatic return to the shop, so that the test can inspect the page. */
const stay = (page: Page, { url }: CheckoutOrder) => page.goto(`${url}?stay=1`);

/** Every page, by name, and how a customer reaches it. */
export const everyPage: Readonly<Record<string, Visit>> = {
  pay: async (page, orders) => {
    await open(page, orders, { environment: Environment.PRODUCTION });
  },
  'pay, a test, everything long and folded out': async (page, orders) => {
    await open(page, orders, {
      amount: '999999999999.99',
      businessName: 'A very long business name of a company with many words & more (Addis Ababa branch)',
      reason: 'Averyveryverylongreasonwithoutanyspaces'.repeat(6),
    });
    for (const fold of await page.locator('summary:visible').all()) await fold.click();
  },
  'pay, with mistakes': async (page, orders) => {
    await open(page, orders);
    await page.locator('#phone').fill('12');
    await page.locator('form').first().locator('button').click();
    await page.waitForSelector('[aria-invalid]');
  },
  confirm: async (page, orders) => {
    await pay(page, orders);
  },
  'confirm, a wrong number': async (page, orders) => {
    const order = await pay(page, orders, { contact: { phone: '8118', email: 'help@shoes.example' } });
    await orders.settle(order, { attempt: 'SENT' });
    await page.goto(order.url);
    await page.locator('summary:visible').click();
  },
  'confirm, too late to cancel': async (page, orders) => {
    const order = await pay(page, orders);
    await page.locator('summary:visible').click();
    await page.route('**/status', (route) => route.abort());
    await orders.settle(order, { attempt: 'SENT' });
    await page.locator('form button').click();
    await page.waitForSelector('.alert');
  },
  'confirm, on a page of the wallet': async (page, orders) => {
    const order = await pay(page, orders, { contact: { phone: '8118', email: 'help@shoes.example' } });
    await orders.settle(order, { attempt: 'SENT', redirectUrl: 'https://wallet.example/pay' });
    // The script opens the wallet's page once, and remembers it. This customer is back from there.
    await page.evaluate(
      "sessionStorage.setItem(`opened ${document.querySelector('[data-version]').dataset.version.replace('confirm-', '')}`, '1')",
    );
    await page.goto(order.url);
    await page.locator('summary:visible').click();
  },
  'confirm, slow': async (page, orders) => {
    const order = await pay(page, orders);
    await orders.settle(order, { attempt: 'UNKNOWN' });
    await page.goto(order.url);
  },
  'try again': async (page, orders) => {
    const order = await pay(page, orders);
    await orders.settle(order, { attempt: 'DECLINED', declineReason: 'insufficient_funds' });
    await page.goto(order.url);
  },
  paid: async (page, orders) => {
    const order = await pay(page, orders, { contact: { phone: '0911556677', email: 'help@shoes.example' } });
    await orders.settle(order, { attempt: 'SUCCEEDED', order: 'COMPLETED' });
    await stay(page, order);
  },
  'paid, about to go back': async (page, orders) => {
    const order = await pay(page, orders);
    await orders.settle(order, { attempt: 'SUCCEEDED', order: 'COMPLETED' });
    await page.goto(order.url);
  },
  failed: async (page, orders) => {
    const order = await pay(page, orders);
    await orders.useUpAttempts(order);
    await stay(page, order);
  },
  cancelled: async (page, orders) => {
    const order = await open(page, orders);
    await page.locator('summary:visible').last().click();
    await page.locator('form').last().locator('button').click();
    await page.waitForSelector('.mark');
    await stay(page, order);
  },
  expired: async (page, orders) => {
    const order = await orders.register();
    await orders.expire(order);
    await stay(page, order);
  },
  'in use': async (page, orders) => {
    const order = await pay(page, orders);
    await page.context().clearCookies();
    await page.goto(order.url);
  },
  'unknown link': async (page, _orders, origin) => {
    await page.goto(`${origin}/c/${'a'.repeat(87)}`);
  },
};
