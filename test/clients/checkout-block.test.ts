import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';
import { expect, test } from '@jest/globals';

const script = join(import.meta.dirname, '../../clients/woocommerce/assets/blocks.js');

test("WooCommerce's checkout block gets the payment method with the words of the shop's settings", async () => {
  const registered: Record<string, unknown>[] = [];
  const words = { title: 'Mobile money &amp; more', description: 'On the next page', supports: ['refunds'] };
  const wc = {
    wcBlocksRegistry: { registerPaymentMethod: (method: Record<string, unknown>) => registered.push(method) },
    wcSettings: { getSetting: (name: string) => (name === 'gatehouse_data' ? words : {}) },
  };
  const wp = {
    element: { createElement: (component: () => string) => component() },
    htmlEntities: { decodeEntities: (text: string) => text.replace('&amp;', '&') },
  };

  runInNewContext(await readFile(script, 'utf8'), { wc, wp });

  expect(registered).toMatchObject([
    {
      name: 'gatehouse',
      label: 'Mobile money & more',
      ariaLabel: 'Mobile money & more',
      content: 'On the next page',
      edit: 'On the next page',
      supports: { features: ['refunds'] },
    },
  ]);
});
