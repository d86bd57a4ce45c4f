import { setTimeout as delay } from 'node:timers/promises';
import { DemoStopped } from './demo-stopped.ts';

const timeoutMs = 15_000;
const pageDeadlineMs = 60_000;

/** A customer's browser at the hosted checkout, for wallets whose page the payer must open. */
export interface DemoCustomer {
  /** Chooses the option on the checkout page. */
  readonly choose: (checkoutUrl: string, option: string, phone: string) => Promise<void>;
  /** Follows the checkout to the wallet's page, and pays there with a phone number. */
  readonly payAtWallet: (checkoutUrl: string, phone: string) => Promise<void>;
}

export function openDemoCustomer(now: () => Date): DemoCustomer {
  const cookies = new Map<string, string>();
  const send = async (url: string, form?: Readonly<Record<string, string>>): Promise<Response> => {
    const response = await fetch(url, {
      redirect: 'manual',
      headers: {
        origin: new URL(url).origin,
        cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; '),
      },
      ...(form === undefined ? {} : { method: 'POST', body: new URLSearchParams(form) }),
      signal: AbortSignal.timeout(timeoutMs),
    });
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      cookies.set(name, value);
    }
    return response;
  };
  return {
    async choose(checkoutUrl, option, phone) {
      await send(checkoutUrl);
      const { status } = await send(checkoutUrl, { payment_option: option, phone });
      if (status !== 303) throw new DemoStopped(`the checkout page answered ${status} to the payment`);
    },
    async payAtWallet(checkoutUrl, phone) {
      const walletPage = await findLink(async () => (await send(checkoutUrl)).text(), now);
      const { headers } = await send(walletPage);
      const page = new URL(headers.get('location') ?? walletPage, walletPage).href;
      const { status } = await send(page, { phone, action: 'pay' });
      if (status >= 400) throw new DemoStopped(`the wallet's page answered ${status} to the payment`);
    },
  };
}

/** The link that the checkout page shows once the wallet has accepted the payment. */
async function findLink(read: () => Promise<string>, now: () => Date): Promise<string> {
  const deadline = now().getTime() + pageDeadlineMs;
  for (;;) {
    const [, href] = /href="([^"]+)" data-open-once/.exec(await read()) ?? [];
    if (href !== undefined) return href.replaceAll('&amp;', '&');
    if (now().getTime() > deadline) throw new DemoStopped('the checkout page has no link to the wallet');
    await delay(250);
  }
}
