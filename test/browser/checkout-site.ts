import type { Browser } from 'playwright-core';
import { openCheckoutOrders } from '../support/checkout-orders.ts';
import type { CheckoutOrders } from '../support/checkout-orders.ts';
import { launchChromium } from '../support/chromium.ts';
import { walletsOfCoreWithPaybill } from '../support/simulated-wallets.ts';
import { openShop } from '../support/shop.ts';
import type { Shop } from '../support/shop.ts';
import { startStack } from '../support/stack.ts';

/** The checkout of a running Gatehouse, a merchant's shop, and a browser for their customers. */
export interface CheckoutSite {
  readonly origin: string;
  readonly orders: CheckoutOrders;
  readonly shop: Shop;
  readonly browser: Browser;
  readonly close: () => Promise<void>;
}

export async function openCheckoutSite(): Promise<CheckoutSite> {
  const [stack, browser, shop] = await Promise.all([
    startStack({
      facades: 0,
      checkouts: 1,
      // The instructions for the menu of the phone must not move the button out of sight.
      settings: { GATEHOUSE_WALLETS: walletsOfCoreWithPaybill('174379') },
    }),
    launchChromium(),
    openShop(),
  ]);
  const orders = await openCheckoutOrders(stack);
  return {
    origin: stack.checkouts[0]?.origin ?? '',
    orders,
    shop,
    browser,
    async close() {
      await orders.close();
      await Promise.all([browser.close(), shop.close(), stack.stop()]);
    },
  };
}
