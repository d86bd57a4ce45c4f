import { beforeAll, describe, expect, test } from '@jest/globals';
import { WalletAccountCheck } from '../../src/gen/gatehouse/v1/merchant_wallet_service_pb.js';
import { credentials, mpesaOfProcess, mpesaSimulated } from '../integration/wallets/mpesa-subject.ts';
import { settings as mtnSettings, mtnOfProcess } from '../integration/wallets/mtn-momo-subject.ts';
import {
  settings as telebirrSettings,
  simulatorCredentials,
  telebirrOfProcess,
} from '../integration/wallets/telebirr-subject.ts';
import { createCustomer } from '../support/customer.ts';
import { sharedSimulatorProcess } from '../integration/wallets/simulator-subject.ts';
import type { TestMerchant } from '../support/stack.ts';
import { waitUntil } from '../support/wait-until.ts';
import { callSandbox } from '../support/sandbox-calls.ts';
import { addAccount, createMerchantWithAccount, ledgerOf, refundAs } from './own-account.ts';
import { sharedMerchant, sharedStack } from '../support/shared-stack.ts';

// M-Pesa reports the outcome by callbacks. The notes and the replaced references must pass through core unchanged.
// MTN finds a lost request by its X-Reference-Id. At telebirr the payer pays on the wallet's page, whose link must
// pass unchanged from the connector to checkout.

const { base_url: _url, ...mtn } = mtnSettings('');
const simulator = sharedSimulatorProcess({
  mtn: { protocol: 'mtn-momo', ...mtn },
  telebirr: simulatorCredentials,
  ...mpesaSimulated,
});

/** The wallets. The operator has no valid credentials at those that begin with \`own\`: only merchants' own accounts work. */
function wallets() {
  const origin = String(simulator.ready['origin']);
  const walletOf = (
    id: string,
    connector: string,
    channel: string,
    currency: string,
    settings: object,
    decimals?: number,
  ) => ({
    ...{ id, connector, names: { en: id, am: id }, channels: [channel], reconcile: false },
    currencies: [{ code: currency, decimals }],
    // Without telebirr's answer there is no page to pay on, and a busy machine may need more than a second for it.
    environments: { sandbox: { settings, call_timeout_ms: connector === 'telebirr' ? 20_000 : 1_000 } },
  });
  const refused = (...fields: string[]) =>
    Object.fromEntries(fields.map((field) => [field, { secret: 'REFUSED_BY_THE_PROVIDER' }]));
  const { settings: ofMtn } = mtnOfProcess(`${origin}/mtn`);
  const { settings: ofTelebirr } = telebirrOfProcess(origin);
  const keys = refused(
    ...['collection_subscription_key', 'collection_api_key'],
    ...['disbursement_subscription_key', 'disbursement_api_key'],
  );
  const mpesaOf = (id: string, connector: string, currency: string) => {
    const { settings } = mpesaOfProcess(`${origin}/${id}`);
    return [
      walletOf(id, connector, 'ussd', currency, settings, 0),
      walletOf(`own${id}`, connector, 'ussd', currency, { ...settings, ...refused('consumer_secret') }, 0),
    ];
  };
  return [
    ...mpesaOf('mpesa', 'mpesa-daraja', 'KES'),
    ...mpesaOf('mpesaet', 'mpesa-ethiopia', 'ETB'),
    walletOf('mtn', 'mtn-momo', 'ussd', 'EUR', ofMtn),
    walletOf('telebirr', 'telebirr', 'wallet', 'ETB', ofTelebirr),
    walletOf('ownmtn', 'mtn-momo', 'ussd', 'EUR', { ...ofMtn, ...keys }),
    walletOf('owntelebirr', 'telebirr', 'wallet', 'ETB', { ...ofTelebirr, ...refused('app_secret') }),
  ];
}

const stack = sharedStack({
  wallets: 1,
  checkouts: 1,
  settings: {
    get GATEHOUSE_WALLETS() {
      return JSON.stringify({ wallets: wallets() });
    },
    REFUSED_BY_THE_PROVIDER: 'refused-by-the-provider',
    ...mpesaOfProcess('').variables,
    ...mtnOfProcess('').variables,
    ...telebirrOfProcess('').variables,
  },
});
const merchant = sharedMerchant(stack);

const ended = (orderNumber: string, by = merchant): Promise<string> =>
  waitUntil('the order has ended', async () => {
    const { status } = (await callSandbox(stack, by, 'verify', { order_number: orderNumber })).data;
    return status === 'PENDING' ? undefined : status;
  });

const chargesTo = (payer: string) => ledgerOf(String(simulator.ready['origin']), payer);

/** Prompts a payer of MTN. Returns the status of the answer. */
async function askPayer(wallet: string, phone: string, orderNumber: string, by = merchant): Promise<number> {
  const order = { order_number: orderNumber, amount: '5.00', currency: 'EUR', phone };
  return (await callSandbox(stack, by, `direct?payment_option=${wallet}_ussd`, order)).status;
}

/** Pays an order of 150 on telebirr's page, with the link that checkout shows. */
async function payOnPage(wallet: string, phone: string, orderNumber: string, by = merchant): Promise<void> {
  const { data } = await callSandbox(stack, by, 'register', {
    order_number: orderNumber,
    amount: '150.00',
    currency: 'ETB',
    reason: 'Coffee beans',
    customer_phone: '+251911223344',
    return_url: 'https://shop.example/thanks',
  });
  const { pathname } = new URL(String(data['checkout_url']));
  const customer = createCustomer();
  const checkout = `${stack.checkouts[0]?.origin}${pathname}`;
  await customer.get(checkout);
  await customer.post(checkout, { payment_option: `${wallet}_wallet`, phone: '0911223344' });
  const link = await waitUntil('checkout has the link', async () => {
    const { body } = await customer.get(checkout);
    return /href="([^"]*\/payment\/web\/paygate[^"]*)"/.exec(body)?.[1]?.replaceAll('&amp;', '&');
  });
  const page = await fetch(link);
  await fetch(page.url, { method: 'POST', body: new URLSearchParams({ phone, action: 'pay' }) });
}

test.each([
  ['00', 'is paid', 'COMPLETED'],
  ['03', 'is cancelled by the payer', 'FAILED'],
  ['14', 'is paid, and the answer to its request is lost', 'COMPLETED'],
  ['17', 'is paid despite an error', 'COMPLETED'],
] as const)('a payment at MTN of payer %s %s', async (row, _what, status) => {
  const [phone, orderNumber] = [`+2567700000${row}`, `mtn-${row}`];

  expect(await askPayer('mtn', phone, orderNumber)).toBe(201);
  expect(await ended(orderNumber)).toBe(status);
  expect(await chargesTo(phone)).toHaveLength(status === 'COMPLETED' ? 1 : 0);
});

test.each([
  ['00', 'and telebirr notifies'],
  ['10', 'and the notification is lost'],
])('a payment on telebirr’s page by payer %s is completed, %s', async (row) => {
  await payOnPage('telebirr', `09100000${row}`, `telebirr-${row}`);

  expect(await ended(`telebirr-${row}`)).toBe('COMPLETED');
  expect(await chargesTo(`2519100000${row}`)).toHaveLength(1);
});

describe("a merchant's own account", () => {
  const owners: Record<string, TestMerchant> = {};
  beforeAll(async () => {
    const { collection_subscription_key, collection_api_user, collection_api_key, ...mtn } = mtnSettings('');
    owners['ownmtn'] = await createMerchantWithAccount(stack, 'ownmtn', {
      ...{ collection_subscription_key, collection_api_user, collection_api_key },
      disbursement_subscription_key: String(mtn.disbursement_subscription_key),
      disbursement_api_user: String(mtn.disbursement_api_user),
      disbursement_api_key: String(mtn.disbursement_api_key),
      provider_callback_host: '127.0.0.1',
    });
    const { fabric_app_id, app_secret, merchant_app_id, merchant_code, private_key } = telebirrSettings('');
    owners['owntelebirr'] = await createMerchantWithAccount(stack, 'owntelebirr', {
      ...{ fabric_app_id, app_secret, merchant_app_id, merchant_code, private_key },
    });
  });

  test.each([
    ['ownmtn', '2567711000', askPayer, '5'],
    ['owntelebirr', '2519110000', payOnPage, '150'],
  ] as const)(
    'at %s is paid and returns parts, and returns a part once when the answer is lost',
    async (wallet, prefix, pay, amount) => {
      const owner = owners[wallet]!;
      const phoneOf = (row: string) =>
        wallet === 'ownmtn' ? `+${prefix}${row}` : `0${prefix.slice(3)}${row}`;

      await pay(wallet, phoneOf('00'), `${wallet}-own`, owner);
      const paid = await ended(`${wallet}-own`, owner);
      const part = await refundAs(stack, owner, `${wallet}-own`, '2');
      const rest = await refundAs(stack, owner, `${wallet}-own`);
      // The wallet loses its answer to the refund of this payer.
      await pay(wallet, phoneOf('23'), `${wallet}-lost`, owner);
      await ended(`${wallet}-lost`, owner);
      const lost = await refundAs(stack, owner, `${wallet}-lost`, '3');

      expect([paid, part, rest, lost]).toEqual(['COMPLETED', 'COMPLETED', 'COMPLETED', 'COMPLETED']);
      expect(await chargesTo(`${prefix}00`)).toEqual([`${amount}, returned ${amount}`]);
      expect(await chargesTo(`${prefix}23`)).toEqual([`${amount}, returned 3`]);
    },
  );
});

/** Prompts a payer of M-Pesa for 100, and waits for the end of the order. */
async function payMpesa(wallet: string, phone: string, orderNumber: string, by = merchant) {
  const currency = phone.startsWith('+254') ? 'KES' : 'ETB';
  const order = { order_number: orderNumber, amount: '100', currency, phone };
  const { status: accepted } = await callSandbox(stack, by, `direct?payment_option=${wallet}_ussd`, order);
  const status = await ended(orderNumber, by);
  return { accepted, status };
}

test.each([
  ['mpesa', '00', 'is paid', 'COMPLETED'],
  ['mpesa', '03', 'is cancelled by the payer', 'FAILED'],
  ['mpesa', '14', 'is paid, and the answer to its request is lost', 'COMPLETED'],
  ['mpesaet', '00', 'is paid', 'COMPLETED'],
  ['mpesaet', '03', 'is cancelled by the payer', 'FAILED'],
  ['mpesaet', '14', 'is paid, and the answer to its request is lost', 'COMPLETED'],
] as const)('a payment at %s of payer %s %s', async (wallet, row, _what, status) => {
  const phone = `+${wallet === 'mpesa' ? '254' : '251'}7000000${row}`;

  const outcome = await payMpesa(wallet, phone, `${wallet}-${row}`);

  expect(outcome).toEqual({ accepted: 201, status });
  expect(await chargesTo(phone)).toHaveLength(status === 'COMPLETED' ? 1 : 0);
});

describe.each([
  ['ownmpesa', '+254710'],
  ['ownmpesaet', '+251710'],
])("a merchant's own account at %s", (wallet, prefix) => {
  const { consumer_key, consumer_secret, short_code, passkey, initiator_name, initiator_password } =
    credentials;
  const values = {
    ...{ consumer_key, consumer_secret, short_code, passkey, initiator_name, initiator_password },
  };
  let owner: TestMerchant;
  beforeAll(async () => {
    owner = await createMerchantWithAccount(stack, wallet, values);
  });

  test('is paid, refuses to return a part, and returns the whole', async () => {
    const [phone, orderNumber] = [`${prefix}000000`, `${wallet}-own`];

    const outcome = await payMpesa(wallet, phone, orderNumber, owner);
    const part = await refundAs(stack, owner, orderNumber, '40');
    const whole = await refundAs(stack, owner, orderNumber);

    expect(outcome).toEqual({ accepted: 201, status: 'COMPLETED' });
    expect(part).toEqual({ amount: expect.stringContaining('as a whole') });
    expect(whole).toBe('COMPLETED');
    expect(await chargesTo(phone)).toEqual(['100, returned 100']);
  });

  test('returns a payment once when the answer to the refund is lost', async () => {
    const [phone, orderNumber] = [`${prefix}000023`, `${wallet}-lost`];

    await payMpesa(wallet, phone, orderNumber, owner);

    expect(await refundAs(stack, owner, orderNumber)).toBe('COMPLETED');
    expect(await chargesTo(phone)).toEqual(['100, returned 100']);
  });

  test('is refused with a wrong consumer secret, which the detail names once', async () => {
    const wrong = await addAccount(stack, owner, wallet, { ...values, consumer_secret: 'wrong' });

    expect(wrong).toMatchObject({
      check: WalletAccountCheck.REFUSED,
      checkDetail: expect.stringMatching(
        /^no access token: (?!.*no access token).*; check the consumer key and the consumer secret$/,
      ),
    });
  });

  test('is checked without an unexpected callback', () => {
    const log = stack.wallets[0]?.log;
    expect(log?.filter(({ msg }) => String(msg).startsWith('callback refused'))).toEqual([]);
  });
});
