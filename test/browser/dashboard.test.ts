import { afterEach, describe, expect, test } from '@jest/globals';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { MemberRole } from '../../src/gen/gatehouse/v1/account_service_pb.js';
import { codeOf } from '../support/authenticator.ts';
import { openDashboardUsers } from '../support/dashboard-users.ts';
import type { TestUser } from '../support/dashboard-users.ts';
import { expectAccessible, keepPicture, languages, problemsOf } from './accessible.ts';
import type { Language } from './accessible.ts';
import { merchantPages, operatorPages, publicPages, toRequest } from './dashboard-pages.ts';
import { openDashboardSite, openPage } from './dashboard-site.ts';
import { shared } from '../support/shared-stack.ts';
import { startStack } from '../support/stack.ts';
import { waitUntil } from '../support/wait-until.ts';

const site = shared(openDashboardSite);

/** The opened pages by user and language, because opening one takes longer than visiting it. */
const openedPages = new Map<string, OpenedPage>();

interface OpenedPage {
  readonly page: Page;
  /** The errors of the page and of its console so far. */
  readonly errors: string[];
}

async function pageOf(who: string, user: TestUser | undefined, locale: Language): Promise<OpenedPage> {
  const key = `${who} ${locale}`;
  const known = openedPages.get(key);
  if (known !== undefined) return known;
  const page = await site.open(user, { locale });
  const errors: string[] = [];
  page.on('pageerror', ({ message }) => errors.push(message));
  page.on('console', (message) => {
    if (message.type() === 'error' && !isStatus(message.text())) errors.push(message.text());
  });
  openedPages.set(key, { page, errors });
  return { page, errors };
}

/** A page about a refusal is answered with an error status, which the console reports. */
const isStatus = (text: string): boolean => /status of 4\d\d/.test(text);

describe.each([
  ['nobody', publicPages, () => undefined],
  ['an owner', merchantPages, () => site.owner],
  ['an operator', operatorPages, () => site.operator],
])('for %s', (who, pages, user) => {
  describe.each(Object.entries(pages))('%s', (name, visit) => {
    test.each(languages)(
      'in %s, the page is accessible, fits the width, and logs nothing to the console',
      async (language) => {
        const { page, errors } = await pageOf(who, user(), language);
        await page.setViewportSize({ width: 1280, height: 740 });
        await visit(page, site);
        // A mistake can be below the screen, so it or the message about it has the focus.
        await page.locator('html:not(:has([aria-invalid])), html :focus').first().waitFor();
        await page.evaluate(
          "document.querySelectorAll('main details').forEach((fold) => (fold.open = true))",
        );

        await expectAccessible(page, language);
        await keepPicture(page, `${who}-${name}-${language}`);
        expect(errors.splice(0)).toEqual([]);
        expect(await page.title()).not.toBe('run');
      },
    );
  });
});

describe('a visitor of the dashboard', () => {
  const opened: Page[] = [];
  afterEach(() => Promise.all(opened.splice(0).map((page) => page.context().close())));

  async function open(user: TestUser | undefined, options?: BrowserContextOptions): Promise<Page> {
    const page = await site.open(user, options);
    opened.push(page);
    return page;
  }

  const at = (path: string): string => `${site.origin}/m/${site.merchantId}/${path}`;
  const inSandbox = (path: string): string => at(`sandbox/${path}`);

  /** Sends a form without a network, for which the browser shows a page of its own. */
  async function sendOffline(page: Page, button: string): Promise<void> {
    await page.context().setOffline(true);
    await page.getByRole('button', { name: button }).click();
    await page.waitForURL(/^chrome-error:/);
    await page.context().setOffline(false);
  }

  test('a key is created and revoked without JavaScript', async () => {
    const page = await open(site.owner, { javaScriptEnabled: false, viewport: { width: 360, height: 740 } });
    await page.goto(at('sandbox/keys'));
    await page.locator('#label').fill('by hand');
    await page.getByRole('button', { name: 'Create key' }).click();
    expect(await page.locator('#secret').textContent()).toMatch(/^svc_test_/);
    await page.getByRole('link', { name: 'I have saved it' }).click();
    await page.locator('summary', { hasText: 'Revoke: by hand' }).click();
    await page.getByRole('button', { name: 'Revoke permanently' }).first().click();
    expect(await page.locator('.alert-good').textContent()).toContain('by hand is revoked.');
  });

  test('a user signs in and creates a key with the keyboard alone', async () => {
    const page = await open(undefined);
    await page.goto(`${site.origin}/sign-in`);
    // On a busy machine the browser sets the focus after the page has loaded.
    await page.locator('input[name=email]:focus').waitFor();
    await page.keyboard.type(site.owner.email);
    await page.keyboard.press('Tab');
    await page.keyboard.type(site.owner.password);
    await page.keyboard.press('Enter');
    await page.locator('.menu-user').waitFor();
    await page.goto(at('sandbox/keys'));
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to the content');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    await page.keyboard.type('typed');
    await page.keyboard.press('Enter');
    await page.locator('#secret').waitFor();
    expect(page.url()).toBe(at('sandbox/keys'));
  });

  test('an owner asks for a refund, another approves it, and the open page follows it to its end', async () => {
    const page = await open(site.owner, { viewport: { width: 390, height: 844 } });
    await page.goto(inSandbox(`orders/${site.paidOrderId}`));
    await page.getByRole('link', { name: 'Refund', exact: true }).click();
    const left = await page.locator('#amount').inputValue();
    await page.locator('#amount').fill('5.50');
    await page.locator('#reason').fill('One shoe was missing');
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByText(/5\.50 will go back to \+251911000001 by Wallet A, USSD/).waitFor();
    await page.getByRole('button', { name: 'Change the amount or the reason' }).click();
    expect(await page.locator('#reason').inputValue()).toBe('One shoe was missing');
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('button', { name: /^Ask for approval of ETB/ }).dblclick();
    await page.waitForURL(/refunds\/rfd_/);
    await page.getByText('This page updates by itself.').waitFor();
    const second = await open(await openDashboardUsers(site.stack).member(site.merchantId));
    await second.goto(inSandbox('refunds?state=awaiting'));
    await second.locator('tbody a', { hasText: '5.50' }).click();
    await second.getByRole('button', { name: 'Approve the refund' }).click();
    // A quick wallet ends the refund at once, and then the page shows the result.
    await second
      .getByText(/The refund is approved\.|confirmed on .* that ETB\s5\.50 went back/)
      .first()
      .waitFor();

    await page.getByText(/confirmed on .* that ETB\s5\.50 went back to the payer/).waitFor();
    await page.locator('.facts a', { hasText: 'PAID-1' }).click();
    await page.locator('.story', { hasText: 'One shoe was missing' }).first().waitFor();
    expect(await page.locator('.summary').innerText()).toMatch(/ETB\s5\.50 was refunded\./);
    await keepPicture(page, 'a refunded order, on a phone');
    await page.goto(inSandbox(`orders/${site.paidOrderId}/refund`));
    expect(Number(left) - Number(await page.locator('#amount').inputValue())).toBeCloseTo(5.5);
  });

  test('who goes back after a refund, past a mistake, finds the form and the refund', async () => {
    const page = await open(site.owner);
    await page.goto(inSandbox(`orders/${site.paidOrderId}/refund`));
    await page.locator('#amount').fill('0');
    await page.locator('#reason').fill('A scratch');
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.locator('#amount[aria-invalid]').fill('1.25');
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('button', { name: /^(Refund|Ask for approval of) ETB/ }).click();
    await page.waitForURL(/refunds\/rfd_/);

    await page.goBack();

    await page.getByRole('heading', { name: /^Refund/ }).waitFor();
    await page.locator('main a[href*="/refunds/rfd_"]').first().waitFor();
    await page.goBack();
    await page.locator('main a[href*="/refunds/rfd_"]').first().waitFor();
  });

  test('who stops a page that does not load can press its button again', async () => {
    const page = await open(site.owner);
    await page.clock.install();
    const devtools = await page.context().newCDPSession(page);
    let unanswered = 1;
    await page.route('**/profile', (route) => (unanswered-- > 0 ? undefined : route.continue()));
    const stopLoading = async () => {
      await page.waitForRequest('**/profile');
      await devtools.send('Page.stopLoading');
    };
    await page.goto(`${site.origin}/account`);
    const save = page.getByRole('button', { name: 'Save', exact: true });
    await Promise.all([stopLoading(), save.click()]);

    await page.clock.fastForward('00:20');
    await save.click();

    await page.getByText('Saved.').waitFor();
  });

  test('who sent a form without a network finds it on the way back, with what was typed', async () => {
    const page = await open(site.owner);
    await page.goto(inSandbox('links/new'));
    await page.locator('#amount').fill('75.50');
    await page.locator('#currency').selectOption('USD');
    await page.getByLabel('As a QR code').check();
    const number = await page.locator('#order_number').inputValue();
    await sendOffline(page, 'Create the link');

    await page.goBack();

    await page.getByText('This is what you entered before.').waitFor();
    expect(await page.locator('#amount').inputValue()).toBe('75.50');
    expect(await page.locator('#currency').inputValue()).toBe('USD');
    expect(await page.getByLabel('As a QR code').isChecked()).toBe(true);
    // With the same number, the form creates one link, however often it is sent.
    expect(await page.locator('#order_number').inputValue()).toBe(number);
    await page.getByRole('button', { name: 'Create the link' }).click();
    await page.locator('#reason-error').waitFor();
    await page.goto(inSandbox('links/new'));
    expect(await page.locator('#amount').inputValue()).toBe('');
  });

  test('whose form the gateway could not answer opens it again with what was typed, and no password is kept', async () => {
    const stack = await startStack({ facades: 0, dashboards: 1 });
    try {
      const { id: merchantId } = await stack.createMerchant();
      const user = await openDashboardUsers(stack).member(merchantId);
      const origin = stack.dashboards[0]?.origin ?? '';
      const page = await openPage(site.browser, origin, user);
      opened.push(page);
      await page.goto(`${origin}/m/${merchantId}/sandbox/keys`);
      await page.locator('#label').fill('A label that took long to write');
      await stack.cores[0]?.stop();
      await page.getByRole('button', { name: 'Create key' }).click();
      await page.getByRole('heading', { name: 'We cannot reach our systems' }).waitFor();
      await stack.replaceCore();

      await page.getByRole('link', { name: 'Open the page again' }).click();

      expect(await page.locator('#label:focus').inputValue()).toBe('A label that took long to write');
      await page.goto(`${origin}/account`);
      await page.locator('#current_password').fill(user.password);
      await page.locator('#new_password').fill('another four unrelated words');
      await sendOffline(page, 'Change password');
      await page.goBack();
      expect(await page.locator('#new_password').inputValue()).toBe('');
      expect(await page.evaluate('JSON.stringify(sessionStorage)')).not.toContain('unrelated');
    } finally {
      await stack.stop();
    }
  });

  test('sees the buttons above the refunds in one row on a phone', async () => {
    const page = await open(site.owner, { viewport: { width: 390, height: 844 } });
    await page.goto(inSandbox('refunds'));
    const boxes = await Promise.all(
      (await page.locator('.page-head .button').all()).map((button) => button.boundingBox()),
    );
    expect(boxes).toHaveLength(2);
    expect(boxes[0]!.y).toBe(boxes[1]!.y);
  });

  test('sees all roles with a circle of the same size, however long their texts are', async () => {
    const page = await open(site.owner);
    await page.goto(at('team'));
    const boxes = await Promise.all(
      (await page.locator('input[name=role]').all()).map((input) => input.boundingBox()),
    );
    expect(boxes).toHaveLength(3);
    expect(new Set(boxes.map((box) => box?.width)).size).toBe(1);
  });

  test('whose page does not hear from the server asks again, and sees the refund end', async () => {
    const page = await open(site.owner, { viewport: { width: 390, height: 844 } });
    await page.clock.install();
    await page.goto(inSandbox(`refunds/${site.waitingRefundId}`));
    await page.route('**/state', () => undefined);
    await page.waitForRequest('**/state');
    const again = page.waitForRequest('**/state');
    await page.clock.fastForward('00:20');
    await again;
  });

  test.each([
    ['webhooks', 0, 100_000],
    // A chart is drawn from the table.
    ['', 1, 160_000],
  ])(
    'the page "%s" draws %i charts, and weighs little with its style and scripts',
    async (path, charts, limit) => {
      const page = await open(site.owner);
      await page.goto(inSandbox(path), { waitUntil: 'networkidle' });

      expect(await page.locator('.chart canvas').count()).toBe(charts);
      const bytes = await page.evaluate<number>(
        "[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]" +
          '.reduce((sum, { decodedBodySize }) => sum + decodedBodySize, 0)',
      );
      expect(bytes).toBeGreaterThan(10_000);
      expect(bytes).toBeLessThan(limit);
    },
  );

  test('a merchant creates a payment link, a customer pays it, and the page updates by itself', async () => {
    const page = await open(site.owner);
    await page.goto(inSandbox(''));
    await page.getByRole('link', { name: 'Payment links' }).first().click();
    await page.getByRole('link', { name: 'Create a payment link' }).click();
    await page.locator('#amount').fill('75.50');
    await page.locator('#reason').fill('Coffee for the team');
    await page.getByRole('button', { name: 'Create the link' }).click();
    await page.locator('.qr img').waitFor();
    expect(await problemsOf(page)).toEqual([]);
    await keepPicture(page, 'link-en-1280');
    const drawn = await page.evaluate<number>("document.querySelector('.qr img').naturalWidth");
    expect(drawn).toBeGreaterThan(0);
    const url = new URL((await page.locator('#checkout-url').textContent()) ?? '');

    const checkout = await open(undefined, { viewport: { width: 360, height: 740 } });
    await checkout.goto(`${site.stack.checkouts[0]!.origin}${url.pathname}`);
    expect(await checkout.locator('#phone').inputValue()).toBe('');
    await checkout.locator('#phone').fill('0911000002');
    await checkout.locator('input[type=radio]').first().check({ force: true });
    await checkout.locator('main form button[type=submit]').first().click();

    await page.getByText('The link is paid.').waitFor();
    await page.getByRole('link', { name: 'The history of the order' }).click();
    expect(await page.locator('.story-wallet').count()).toBeGreaterThan(0);
    expect(await page.locator('.facts', { hasText: 'Collected' }).textContent()).toContain('0911000002');
  });

  test.each([1024, 1280])(
    'sees all columns of the orders that an operator finds, at %i pixels',
    async (width) => {
      const page = await open(site.operator, { viewport: { width, height: 740 } });
      await page.goto(`${site.origin}/operator/orders?text=PAID-1`);

      const [box, shown] = ['scrollWidth', 'clientWidth'].map(
        (name) => `document.querySelector('.table-box').${name}`,
      );
      expect(await page.locator('.table-box tbody tr').count()).toBe(1);
      expect(await page.evaluate(`${box} - ${shown}`)).toBe(0);
    },
  );

  test('sees with forced colours which environment, page and days are chosen', async () => {
    const page = await open(site.owner, { forcedColors: 'active' });
    await page.goto(inSandbox(''));
    const ground = (selector: string): Promise<unknown> =>
      page.evaluate(`getComputedStyle(document.querySelector('${selector}')).backgroundColor`);

    for (const links of ['.switch a', '.side a', '.spans a'])
      expect(await ground(`${links}[aria-current]`)).not.toBe(await ground(`${links}:not([aria-current])`));
  });

  test('sees the chart in the colours of the other scheme after it has changed', async () => {
    const page = await open(site.owner, { colorScheme: 'light' });
    await page.goto(inSandbox(''));
    /** The colour of the first pixel that has one: of an axis or the grid. */
    const colour = (): Promise<string> =>
      page.evaluate(
        `(() => {
          const canvas = document.querySelector('.chart canvas');
          const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
          const at = data.findIndex((value, index) => index % 4 === 3 && value === 255);
          return String(data.slice(at - 3, at));
        })()`,
      );
    await page.locator('.chart canvas').waitFor();
    const before = await colour();

    await page.emulateMedia({ colorScheme: 'dark' });

    await waitUntil('the chart is drawn again', async () => (await colour()) !== before);
    expect(await page.locator('.chart canvas').count()).toBe(1);
    await page.emulateMedia({ colorScheme: 'light' });
    await waitUntil('the chart is as before', async () => (await colour()) === before);
  });

  test('prints what the page says and of which merchant, in dark letters, without what can be pressed', async () => {
    const page = await open(site.owner, { colorScheme: 'dark' });
    const shown = async (...selectors: string[]): Promise<boolean[]> =>
      Promise.all(selectors.map((selector) => page.locator(selector).first().isVisible()));
    const styleOf = (selector: string, name: string): Promise<unknown> =>
      page.evaluate(`getComputedStyle(document.querySelector('${selector}')).${name}`);
    await page.goto(inSandbox('orders'));
    await page.emulateMedia({ media: 'print' });
    const list = ['.table td', '.merchant-name', '.switch-sandbox', '.sandbox-note', '.bottom'];
    expect(await shown(...list)).toEqual(list.map(() => true));
    const pressed = ['form.search', '.page-head .button', '.side', '.menu-user', '.switch-production'];
    expect(await shown(...pressed)).toEqual(pressed.map(() => false));
    expect(await styleOf('body', 'color')).toBe('rgb(20, 33, 28)');
    await page.goto(inSandbox('keys'));
    expect(await shown('th:first-child', 'th:last-child', 'td:last-child')).toEqual([true, false, false]);

    await page.emulateMedia({ media: 'screen' });
    await page.goto(inSandbox(''));
    await page.locator('.chart canvas').waitFor();
    await page.emulateMedia({ media: 'print' });
    // Paper is narrower than the screen, and the chart does not notice that.
    await page.evaluate("document.querySelector('.u-wrap').style.width = '3000px'");
    expect(await page.evaluate("document.querySelector('.u-wrap').clientWidth")).toBeLessThan(1280);
    expect(await styleOf('.chart canvas', 'filter')).toContain('invert');
  });

  test.each(['sandbox/orders', 'sandbox/refunds', 'sandbox/requests', 'sandbox/webhooks', 'audit'])(
    'on a phone, the form of %s is folded until it is pressed or used, and on a laptop it is open',
    async (list) => {
      const page = await open(site.owner, {
        javaScriptEnabled: false,
        viewport: { width: 390, height: 844 },
      });
      await page.goto(at(list));
      const form = page.locator('form[role=search]');
      const fold = page.locator('.search-fold > summary');
      const shownAtFirst = await form.isVisible();
      await fold.click();
      const shownOnPress = await form.isVisible();
      await page.goto(`${at(list)}?order_number=A-1&order=A-1&number=A-1&from=2026-01-01`);
      const shownWhenUsed = await form.isVisible();
      await page.setViewportSize({ width: 1280, height: 800 });
      await page.goto(at(list));

      expect([shownAtFirst, shownOnPress, shownWhenUsed]).toEqual([false, true, true]);
      expect([await form.isVisible(), await fold.isVisible()]).toEqual([true, false]);
    },
  );

  test('without JavaScript, figures are in a table, and orders can be searched', async () => {
    const page = await open(site.owner, { javaScriptEnabled: false });
    await page.goto(inSandbox('?span=month'));
    expect(await page.locator('#chart-table tbody tr').count()).toBe(30);
    expect(await page.locator('.chart').isVisible()).toBe(false);

    await page.goto(inSandbox('orders'));
    await page.locator('#number').fill('PAID');
    await page.getByRole('button', { name: 'Search' }).click();

    expect(await page.locator('tbody tr').count()).toBe(1);
    await page.locator('tbody a', { hasText: 'PAID-1' }).first().click();
    await page.getByRole('link', { name: 'All orders of +251911000001' }).click();
    expect(await page.locator('tbody', { hasText: 'PAID-1' }).innerText()).not.toContain('S-1');
  });

  test('a developer finds out why a request was refused, and sees no whole phone number', async () => {
    const page = await open(site.owner);
    await toRequest(page, site);

    const text = await page.locator('main').innerText();
    expect(text).toContain('INVALID_FIELDS');
    expect(text).toContain('must have at most 2 decimals');
    expect(text).toContain('<script>alert(1)</script>');
    expect(text).toContain('09112**344');
    expect(text).not.toContain('0911223344');
  });

  test('an operator requests a refused reversal again', async () => {
    const page = await open(site.operator);
    await page.goto(`${site.origin}/operator/stray-payments`);
    await page.locator('tbody', { hasText: 'This payment cannot be reversed' }).waitFor();
    await page.locator('summary', { hasText: 'Retry' }).click();
    await page.locator('button', { hasText: 'Retry the reversal' }).click();
    await page.locator('.alert-good').waitFor();
  });

  test('a user turns on one-time codes as the page explains, signs in with one, and turns them off', async () => {
    const user = await openDashboardUsers(site.stack).member(site.merchantId, MemberRole.VIEWER);
    const page = await open(user);
    await page.goto(`${site.origin}/account`);
    await page.getByRole('button', { name: 'Turn on' }).click();
    await page.locator('#secret').waitFor();
    await keepPicture(page, 'set-up-codes-1280-en');
    expect(await problemsOf(page)).toEqual([]);
    const secret = ((await page.locator('#secret').textContent()) ?? '').replaceAll(' ', '');
    await page.locator('#code').fill(codeOf(secret));
    await page.getByRole('button', { name: 'Turn on' }).click();
    await page.locator('#codes').waitFor();
    await keepPicture(page, 'recovery-codes-1280-en');
    expect(await problemsOf(page)).toEqual([]);

    const second = await open(undefined);
    await second.goto(`${site.origin}/sign-in`);
    await second.locator('#email').fill(user.email);
    await second.locator('#password').fill(user.password);
    await second.locator('main form button').first().click();
    // The code of the next step, which was not used yet and is accepted.
    await second.locator('#code').fill(codeOf(secret, 1));
    await second.locator('main form button').first().click();
    await second.locator('.menu-user').waitFor();
    await second.goto(`${site.origin}/account`);
    await second.getByText('Turn off').first().click();
    await second.getByRole('button', { name: 'Turn off' }).click();
    await second.getByText('One-time codes are off').waitFor();
  });
});
