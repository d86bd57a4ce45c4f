import { beforeAll, describe, expect, test } from '@jest/globals';
import { WalletAccountCheck } from '../../src/gen/gatehouse/v1/merchant_wallet_service_pb.js';
import type { TestMerchant } from '../support/stack.ts';
import { waitUntil } from '../support/wait-until.ts';
import { credentials, mpesaOfProcess, sharedMpesaSimulator } from '../integration/wallets/mpesa-subject.ts';
import { addAccount, createMerchantWithAccount, ledgerOf, postAs, refundAs } from './own-account.ts';
import { sharedMerchant, sharedStack } from '../support/shared-stack.ts';

// M-Pesa reports the outcome by callbacks. The notes and the replaced references must pass through core unchanged.

const simulator = sharedMpesaSimulator();
const { variables } = mpesaOfProcess('');

/** A wallet at one of the simulated ones. Without credentials of the operator, only merchants' own accounts work. */
const walletOf = (id: string, connector: string, currency: string, simulated = id) => {
  const { settings } = mpesaOfProcess(`${String(simulator.ready['origin'])}/${simulated}`);
  const refused = simulated === id ? {} : { consumer_secret: { secret: 'NO_CONSUMER_SECRET' } };
  return {
    ...{ id, connector, names: { en: id, am: id }, channels: ['ussd'], reconcile: false },
    currencies: [{ code: currency, decimals: 0 }],
    environments: { sandbox: { settings: { ...settings, ...refused }, call_timeout_ms: 1_000 } },
  };
};

const stack = sharedStack({
  wallets: 1,
  settings: {
    get GATEHOUSE_WALLETS() {
      const wallets = [
        walletOf('mpesa', 'mpesa-daraja', 'KES'),
        walletOf('mpesaet', 'mpesa-ethiopia', 'ETB'),
        walletOf('ownmpesa', 'mpesa-daraja', 'KES', 'mpesa'),
        walletOf('ownmpesaet', 'mpesa-ethiopia', 'ETB', 'mpesaet'),
      ];
      return JSON.stringify({ wallets });
    },
    GATEHOUSE_CURRENCIES: 'ETB,KES',
    NO_CONSUMER_SECRET: 'refused-by-the-provider',
    ...variables,
  },
});
const merchant = sharedMerchant(stack);

const chargesTo = (payer: string) => ledgerOf(String(simulator.ready['origin']), payer);

/** Prompts a payer for 100, and waits for the end of the order. */
async function pay(wallet: string, phone: string, orderNumber: string, by = merchant) {
  const currency = phone.startsWith('+254') ? 'KES' : 'ETB';
  const order = { order_number: orderNumber, amount: '100', currency, phone };
  const { status: accepted } = await postAs(stack, by, `direct?payment_option=${wallet}_ussd`, order);
  const status = await waitUntil('the order has ended', async () => {
    const { data } = await postAs(stack, by, 'verify', { order_number: orderNumber });
    return data['status'] === 'PENDING' ? undefined : data['status'];
  });
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

  const ended = await pay(wallet, phone, `${wallet}-${row}`);

  expect(ended).toEqual({ accepted: 201, status });
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

    const ended = await pay(wallet, phone, orderNumber, owner);
    const part = await refundAs(stack, owner, orderNumber, '40');
    const whole = await refundAs(stack, owner, orderNumber);

    expect(ended).toEqual({ accepted: 201, status: 'COMPLETED' });
    expect(part).toEqual({ amount: expect.stringContaining('as a whole') });
    expect(whole).toBe('COMPLETED');
    expect(await chargesTo(phone)).toEqual(['100, returned 100']);
  });

  test('returns a payment once when the answer to the refund is lost', async () => {
    const [phone, orderNumber] = [`${prefix}000023`, `${wallet}-lost`];

    await pay(wallet, phone, orderNumber, owner);

    expect(await refundAs(stack, owner, orderNumber)).toBe('COMPLETED');
    expect(await chargesTo(phone)).toEqual(['100, returned 100']);
  });

  test('is refused with a wrong consumer secret, which the detail names', async () => {
    const wrong = await addAccount(stack, owner, wallet, { ...values, consumer_secret: 'wrong' });

    expect(wrong).toMatchObject({
      check: WalletAccountCheck.REFUSED,
      checkDetail: expect.stringContaining('check the consumer key and the consumer secret'),
    });
  });

  test('is checked without an unexpected callback', () => {
    expect(stack.wallets[0]?.log.filter(({ msg }) => msg === 'callback refused')).toEqual([]);
  });
});
