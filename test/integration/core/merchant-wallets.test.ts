import { beforeEach, describe, expect, test } from '@jest/globals';
import { v7 } from 'uuid';
import { AuditService } from '../../../src/gen/gatehouse/v1/audit_service_pb.js';
import {
  MerchantWalletService,
  WalletAccountCheck,
  WalletAccountState,
} from '../../../src/gen/gatehouse/v1/merchant_wallet_service_pb.js';
import type { WalletAccount } from '../../../src/gen/gatehouse/v1/merchant_wallet_service_pb.js';
import { MerchantService } from '../../../src/gen/gatehouse/v1/merchant_service_pb.js';
import { Environment } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { connectToDatabase } from '../../support/database-connections.ts';
import { publicId, storedId } from '../../support/ids.ts';
import { directPayment } from '../../support/order-requests.ts';
import { failureOf, outcomeOf, refusalOf } from '../../support/rpc-failure.ts';
import { sharedClient, sharedStack } from '../../support/shared-stack.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { sql } from '../../support/sql.ts';
import { outcomes, sharedPaymentDesk } from './payment-desk.ts';

const stack = sharedStack({ facades: 0 });
const desk = sharedPaymentDesk(stack);
const merchantWallets = sharedClient(stack, MerchantWalletService, 'dashboard');
const worker = sharedClient(stack, MerchantWalletService, 'wallets');
const merchants = sharedClient(stack, MerchantService, 'operator');
const audit = sharedClient(stack, AuditService, 'operator');

const environment = Environment.SANDBOX;
const canary = 'canary-of-a-client-secret';
const values = {
  client_id: 'shoes',
  client_secret: canary,
  'payee.type': 'msisdn',
  'payee.id': '251900000001',
};

let merchantId: string;
beforeEach(async () => {
  await desk.clear();
  ({ id: merchantId } = await stack.createMerchant());
});

const listed = async () => (await merchantWallets.listMerchantWallets({ merchantId, environment })).wallets;
const switchWallet = (wallet: string, on: boolean) =>
  merchantWallets.switchMerchantWallet({ merchantId, environment, wallet, on });
const add = async (own: Readonly<Record<string, string>> = values): Promise<WalletAccount> => {
  const { account } = await merchantWallets.addWalletAccount({
    merchantId,
    environment,
    wallet: 'walleta',
    values: own,
  });
  return account!;
};
const keyOf = ({ walletAccountId }: WalletAccount) => ({ merchantId, walletAccountId });
const accept = async (account: WalletAccount): Promise<WalletAccount> => {
  await worker.recordWalletAccountCheck({ ...keyOf(account), check: WalletAccountCheck.ACCEPTED });
  return account;
};
const promote = async (account: WalletAccount): Promise<WalletAccount> => {
  await merchantWallets.promoteWalletAccount(keyOf(account));
  return account;
};
const addCurrent = async (): Promise<WalletAccount> => promote(await accept(await add()));

/** An account that a restore lost, and that the broker's events named. */
const loseAccount = (id: string, payee: string | null, minute: number) =>
  desk.query(sql`with begun as (
      insert into core.recoveries (id, cause, lost_from, lost_until, stream, closed, finished_at)
      values (${v7()}, 'NEW_HOME', now(), now(), 'COMPLETE', '{}', now()) returning id
    )
    insert into core.recovery_accounts (recovery_id, merchant_id, wallet_account_id, environment, wallet, payee, promoted_at)
    select id, ${storedId('mer', merchantId)}, ${id}, 'SANDBOX', 'walleta', ${payee},
      timestamptz '2026-03-10T12:00:00Z' + ${minute} * interval '1 minute' from begun`);

describe("the merchant's choice", () => {
  test('customers cannot pay with a wallet that is off, and can again when it is on', async () => {
    const order = await desk.registerHosted({ merchantId });
    await switchWallet('walleta', false);
    const offered = async () =>
      (await desk.checkout.getCheckout({ token: order.token })).checkout?.paymentOptions;
    // Registrations use a merchant that core has cached for a moment.
    const failure = await waitUntil('direct payments are refused', async () => {
      const orderNumber = `W-${Math.random()}`;
      return failureOf(desk.orders.startDirectPayment(directPayment({ merchantId, orderNumber }))).catch(
        () => undefined,
      );
    });

    expect(await offered()).toEqual(['walletb_ussd']);
    expect((await listed()).map(({ on }) => on)).toEqual([false, true]);
    expect(failure).toMatchObject({
      reason: 'INVALID_FIELDS',
      issues: {
        payment_option:
          'is of a wallet that you have switched off; switch it on in the dashboard, under Wallets',
      },
    });
    expect((await switchWallet('walleta', true)).wallet).toMatchObject({ wallet: 'walleta', on: true });
    expect(await offered()).toEqual(['walleta_wallet', 'walleta_ussd', 'walletb_ussd']);
  });

  test('the choice is limited to what the operator allows', async () => {
    await merchants.updateMerchant({ merchantId, terms: { sandboxPaymentOptions: ['walletb_ussd'] } });

    expect(await listed()).toMatchObject([
      { wallet: 'walleta', paymentOptions: [], on: true },
      { wallet: 'walletb', paymentOptions: ['walletb_ussd'], on: true },
    ]);
  });

  test.each([
    [{ wallet: 'walletc' }, { wallet: 'must be one of walleta, walletb' }],
    [{ environment: Environment.UNSPECIFIED }, { environment: 'must be SANDBOX or PRODUCTION' }],
  ])('an unknown wallet is refused: %j', async (own, issues) => {
    const request = { merchantId, environment, wallet: 'walleta', on: false, ...own };

    expect(await failureOf(merchantWallets.switchMerchantWallet(request))).toMatchObject({
      reason: 'INVALID_FIELDS',
      issues,
    });
  });
});

describe('an own account', () => {
  test('is stored without a readable secret, and shows only its ending', async () => {
    const account = await add();

    expect(account).toMatchObject({
      state: WalletAccountState.NEXT,
      check: WalletAccountCheck.WAITING,
      values: [
        { name: 'client_id', value: 'shoes', ending: '' },
        { name: 'client_secret', value: '', ending: 'cret' },
        { name: 'payee.id', value: '251900000001', ending: '' },
        { name: 'payee.type', value: 'msisdn', ending: '' },
      ],
    });
    const rows = await desk.query('select t::text as row from core.wallet_accounts t');
    const audited = await audit.listAuditEntries({ merchantId });
    expect(JSON.stringify(rows)).toContain('shoes');
    expect(JSON.stringify([rows, audited.entries.map(({ details }) => details)])).not.toContain(canary);
    expect(audited.entries[0]).toMatchObject({
      action: 'wallet_account.add',
      targetId: account.walletAccountId,
      details: { fields: 'client_id, client_secret, payee.id, payee.type', wallet: 'walleta' },
    });
    const settings = await worker.getWalletAccountSettings(keyOf(account));
    expect(settings).toMatchObject({ wallet: 'walleta', environment, values });
  });

  test('that was copied to another merchant cannot be decrypted there', async () => {
    const account = await add();
    const thief = await stack.createMerchant();
    await desk.query(sql`insert into core.wallet_accounts select ${storedId('mer', thief.id)}, id,
      environment, wallet, state, open_values, endings, key_name,
        sealed_secrets, check_result, check_detail, checked_at, check_due_at, created_at, promoted_at
      from core.wallet_accounts where id = ${storedId('wac', account.walletAccountId)}`);

    const stolen = { merchantId: thief.id, walletAccountId: account.walletAccountId };
    expect(await refusalOf(worker.getWalletAccountSettings(stolen))).toBe('WALLET_ACCOUNT_UNREADABLE');
  });

  test.each([
    [{}, 'values', 'must contain at least one of client_id, client_secret, api_key, payee.type, payee.id'],
    [
      { base_url: 'https://thief.example' },
      'values',
      expect.stringContaining('must contain only these fields: client_id'),
    ],
    // An issue for each would be an error that ends the caller's connection.
    [
      Object.fromEntries(Array.from({ length: 2_000 }, (_, i) => [`name_${i}`, '1'])),
      'values',
      expect.stringContaining('must contain only these fields: client_id'),
    ],
    [{ 'payee.id': '1' }, 'values.payee.type', 'is required with the other parts of payee'],
    // Both are parts of the path of a statement.
    [{ 'payee.type': '..', 'payee.id': '1' }, 'values.payee.type', expect.stringContaining('must match')],
    [{ 'payee.type': 'msisdn', 'payee.id': '..' }, 'values.payee.id', expect.stringContaining('must match')],
    [{ client_id: 'a\u0000b' }, 'values.client_id', 'must not contain control characters'],
    [{ client_id: 'x'.repeat(8193) }, 'values.client_id', 'must be at most 8192 characters'],
    // The next two are sent in a header.
    [{ api_key: 'key\r\nX-Other: 1' }, 'values.api_key', expect.stringContaining('in one line')],
    [{ api_key: 'ቁልፍ' }, 'values.api_key', expect.stringContaining('must be printable ASCII characters')],
  ])('is refused with values that are not valid: %#', async (own, field, issue) => {
    const request = { merchantId, environment, wallet: 'walleta', values: own as Record<string, string> };

    expect(await failureOf(merchantWallets.addWalletAccount(request))).toMatchObject({
      reason: 'INVALID_FIELDS',
      issues: { [field]: issue },
    });
  });

  test('is promoted only after the provider accepted it, and a check is due again on request', async () => {
    const account = await add();
    const due = async () =>
      (await worker.leaseWalletAccountChecks({ environment, wallet: 'walleta', maxChecks: 100 })).accounts
        .map(({ walletAccountId }) => walletAccountId)
        .filter((id) => id === account.walletAccountId);

    expect(await due()).toHaveLength(1);
    expect(await due()).toHaveLength(0);
    expect(await refusalOf(promote(account))).toBe('WALLET_ACCOUNT_NOT_CHECKED');
    const refusal = { ...keyOf(account), check: WalletAccountCheck.REFUSED, detail: 'unknown client' };
    await worker.recordWalletAccountCheck(refusal);
    expect((await listed())[0]?.accounts[0]).toMatchObject({
      check: WalletAccountCheck.REFUSED,
      checkDetail: 'unknown client',
    });
    expect(await refusalOf(promote(account))).toBe('WALLET_ACCOUNT_NOT_CHECKED');
    await merchantWallets.checkWalletAccount(keyOf(account));
    expect(await due()).toHaveLength(1);
    await promote(await accept(account));
    expect((await listed())[0]?.accounts[0]).toMatchObject({ state: WalletAccountState.CURRENT });
  });

  test('is checked at most 30 times in an hour, and other merchants are not affected', async () => {
    const account = await add();
    for (let count = 1; count < 30; count += 1) await merchantWallets.checkWalletAccount(keyOf(account));

    expect(await failureOf(merchantWallets.checkWalletAccount(keyOf(account)))).toMatchObject({
      reason: 'TOO_MANY_TRIES',
    });
    expect(await refusalOf(add({ client_id: 'guessed' }))).toBe('TOO_MANY_TRIES');
    expect((await listed())[0]?.accounts).toHaveLength(1);
    ({ id: merchantId } = await stack.createMerchant());
    expect(await add()).toMatchObject({ wallet: 'walleta' });
  });

  test('replaces the earlier next account, and the number of accounts is limited', async () => {
    const first = await add();
    await add({ client_id: 'second' });

    expect((await listed())[0]?.accounts).toMatchObject([{ values: [{ value: 'second' }] }]);
    expect(await refusalOf(merchantWallets.checkWalletAccount(keyOf(first)))).toBe(
      'WALLET_ACCOUNT_NOT_FOUND',
    );
    for (let count = 0; count < 10; count += 1) await addCurrent();
    expect(await refusalOf(add())).toBe('TOO_MANY_WALLET_ACCOUNTS');
  });
});

describe('the account of a payment', () => {
  const leaseOf = async (orderNumber: string) =>
    desk.take(await desk.startDirect({ merchantId, orderNumber }));

  test("is the operator's, then the current one, and stays the same after a rotation", async () => {
    expect(await leaseOf('P-1')).toMatchObject({ walletAccountId: '' });
    const first = await addCurrent();
    const payment = await desk.startDirect({ merchantId, orderNumber: 'P-2', phone: '0911223345' });
    const leased = await desk.take(payment);
    expect(leased.walletAccountId).toBe(first.walletAccountId);
    await desk.record(leased, outcomes.pending('reference'));

    const second = await addCurrent();

    await desk.makeDue(payment);
    expect(await desk.take(payment)).toMatchObject({
      sentBefore: true,
      walletAccountId: first.walletAccountId,
    });
    const later = await desk.startDirect({ merchantId, orderNumber: 'P-3', phone: '0911223346' });
    expect(await desk.take(later)).toMatchObject({ walletAccountId: second.walletAccountId });
    expect((await listed())[0]?.accounts).toMatchObject([
      { state: WalletAccountState.CURRENT },
      { state: WalletAccountState.RETIRED },
    ]);
  });

  test('changes to the current one when no request has reached the wallet', async () => {
    const first = await addCurrent();
    const payment = await desk.startDirect({ merchantId, orderNumber: 'N-1' });
    const leased = await desk.take(payment);
    expect(leased.walletAccountId).toBe(first.walletAccountId);
    await desk.record(leased, outcomes.notReached());
    await merchantWallets.retireWalletAccount(keyOf(first));

    await desk.makeDue(payment);
    expect(await desk.take(payment)).toMatchObject({ sentBefore: false, walletAccountId: '' });
  });

  test('is not that of another merchant, wallet or environment', async () => {
    await addCurrent();
    const other = await stack.createMerchant();

    const foreign = await desk.startDirect({ merchantId: other.id, phone: '0911223347' });
    expect(await desk.take(foreign)).toMatchObject({ walletAccountId: '' });
    const atB = await desk.startDirect({ merchantId, phone: '0911223348', paymentOption: 'walletb_ussd' });
    expect(await desk.take(atB)).toMatchObject({ walletAccountId: '' });
  });

  test('is not removed while the payment or its reversal needs it', async () => {
    const account = await addCurrent();
    expect(await refusalOf(merchantWallets.removeWalletAccount(keyOf(account)))).toBe(
      'WALLET_ACCOUNT_IN_USE',
    );
    const payment = await desk.startDirect({ merchantId, orderNumber: 'R-1', phone: '0911223349' });
    await desk.record(await desk.take(payment), outcomes.pending('reference'));
    await merchantWallets.retireWalletAccount(keyOf(account));
    await expect(merchantWallets.removeWalletAccount(keyOf(account))).rejects.toThrow('1 open payment');

    await desk.makeDue(payment);
    await desk.settle(payment, outcomes.completed('t-1', '1.00'));
    await expect(merchantWallets.removeWalletAccount(keyOf(account))).rejects.toThrow(
      '1 reversal not completed',
    );
    const [stray] = await desk.strays(merchantId);
    const reversal = await desk.takeReversal(stray?.strayPaymentId ?? '');
    expect(reversal.walletAccountId).toBe(account.walletAccountId);
    await desk.recordReversal(reversal, { case: 'done', value: {} });

    await merchantWallets.removeWalletAccount(keyOf(account));
    expect((await listed())[0]?.accounts).toEqual([]);
    expect(await refusalOf(worker.getWalletAccountSettings(keyOf(account)))).toBe('WALLET_ACCOUNT_NOT_FOUND');
  });

  const payWith = async (orderNumber: string, phone: string): Promise<void> => {
    await desk.settle(
      await desk.startDirect({ merchantId, orderNumber, phone }),
      outcomes.completed(`t-${orderNumber}`),
    );
  };
  const refundOf = (orderNumber: string) =>
    desk.refund(merchantId, orderNumber, { refundNumber: `of-${orderNumber}` });
  const removeUnused = async (account: WalletAccount): Promise<void> => {
    await merchantWallets.retireWalletAccount(keyOf(account));
    await merchantWallets.removeWalletAccount(keyOf(account));
  };

  test('is not removed while a refund needs it, also one that awaits an approval', async () => {
    const account = await addCurrent();
    await payWith('G-0', '0911225000');
    await refundOf('G-0');
    await merchantWallets.retireWalletAccount(keyOf(account));
    const remove = () => merchantWallets.removeWalletAccount(keyOf(account));
    const become = (status: string) =>
      desk.query(sql`update core.refunds set status = ${status}::core.refund_status, due_at = null
        where merchant_id = ${storedId('mer', merchantId)}`);

    await expect(remove()).rejects.toThrow('1 reversal not completed');
    await become('AWAITING_APPROVAL');
    await expect(remove()).rejects.toThrow('1 reversal not completed');
    await become('REVERSED');
    await remove();
  });

  const lose = (account: WalletAccount) => loseAccount(storedId('wac', account.walletAccountId), null, 0);
  const refuse = (account: WalletAccount) =>
    worker.recordWalletAccountCheck({ ...keyOf(account), check: WalletAccountCheck.REFUSED });

  test.each<[string, (account: WalletAccount) => Promise<void>, string]>([
    ['was removed, and is not lost', removeUnused, 'ORDER_NOT_REFUNDABLE'],
    [
      'was lost by a restore, and can be added again',
      async (account) => {
        await removeUnused(account);
        await desk.query(sql`delete from core.payee_accounts
          where wallet_account_id = ${storedId('wac', account.walletAccountId)}`);
        await lose(account);
      },
      'RECOVERING',
    ],
    [
      'was added again after a restore, and removed later',
      async (account) => {
        await lose(account);
        await removeUnused(account);
      },
      'ORDER_NOT_REFUNDABLE',
    ],
    [
      'was added again with wrong credentials only, and can be added with right ones',
      async (account) => {
        await lose(account);
        await refuse(account);
        await removeUnused(account);
      },
      'RECOVERING',
    ],
  ])('refunds nothing when it %s', async (_what, end, refusal) => {
    const account = await addCurrent();
    const orderNumber = `G-${v7()}`;
    await payWith(orderNumber, '0911225001');
    await end(account);

    expect(await refusalOf(refundOf(orderNumber))).toBe(refusal);
    expect(
      await desk.query(sql`select id from core.refunds where merchant_id = ${storedId('mer', merchantId)}`),
    ).toEqual([]);
  });

  test('was removed, and the refusal of a refund says so and what to do instead', async () => {
    const account = await addCurrent();
    const orderNumber = `G-${v7()}`;
    await payWith(orderNumber, '0911225002');
    await removeUnused(account);

    await expect(refundOf(orderNumber)).rejects.toMatchObject({
      rawMessage:
        "the payment went to the merchant's own wallet account, which was removed; pay the customer in another way",
    });
  });

  const waiting = (count: number) =>
    waitUntil(`${count} statements wait for a lock`, async () => {
      const found = await desk.query(`
        select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`);
      return found.length >= count;
    });

  test.each<[string, string, () => Promise<() => Promise<unknown>>]>([
    [
      'refund',
      'core.refunds',
      async () => {
        await payWith('H-1', '0911225100');
        return () => refundOf('H-1');
      },
    ],
    [
      'payment',
      'core.payment_attempts',
      async () => {
        const payment = await desk.startDirect({ merchantId, orderNumber: 'C-1', phone: '0911224000' });
        return () => desk.take(payment);
      },
    ],
  ])('is not removed while a %s begins with it', async (_what, table, prepare) => {
    const account = await addCurrent();
    const begin = await prepare();
    const holder = await connectToDatabase(stack.databaseUrl);
    // It can be read, so the last write of what begins waits.
    await holder.query(`begin; lock table ${table} in share mode`);
    const begun = begin();
    await waiting(1);
    const removal = outcomeOf(removeUnused(account));
    await Promise.race([waiting(2), removal]);
    await holder.end();

    await begun;
    expect(await removal).toBe('WALLET_ACCOUNT_IN_USE');
  });
});

describe('an account that a restore lost', () => {
  const payeeOf = (id: string) => `msisdn ${id}`;
  const withPayee = (id: string) => ({ ...values, 'payee.id': id });

  const lose = async (payee: string | null, minute: number): Promise<string> => {
    const id = v7();
    await loseAccount(id, payee, minute);
    return publicId('wac', id);
  };
  const addAs = async (walletAccountId: string, own: Readonly<Record<string, string>>) => {
    const request = { merchantId, environment, wallet: 'walleta', values: own, walletAccountId };
    return (await merchantWallets.addWalletAccount(request)).account?.walletAccountId;
  };
  const states = async () =>
    new Map((await listed())[0]?.accounts.map((each) => [each.walletAccountId, each.state]));

  test('gets its id again by its payee, the most recently used first', async () => {
    const payee = '251900000002';
    const [older, newer] = [await lose(payeeOf(payee), 1), await lose(payeeOf(payee), 2)];

    expect((await add(withPayee('251900000003'))).walletAccountId).not.toBe(newer);
    expect((await add(withPayee(payee))).walletAccountId).toBe(newer);
    // Payments have used it, so the next account does not replace it.
    expect((await add(withPayee(payee))).walletAccountId).toBe(older);
    const another = (await add(withPayee(payee))).walletAccountId;
    expect([older, newer]).not.toContain(another);
    expect(await states()).toEqual(
      new Map([
        [another, WalletAccountState.NEXT],
        [newer, WalletAccountState.RETIRED],
        [older, WalletAccountState.RETIRED],
      ]),
    );
  });

  test('gets its id again when it is named, even if its payee is unknown', async () => {
    const unknown = await lose(null, 1);
    const named = await lose(payeeOf('251900000002'), 2);

    expect((await add(withPayee('251900000003'))).walletAccountId).not.toBe(unknown);
    expect(await addAs(unknown, withPayee('251900000004'))).toBe(unknown);
    expect(await failureOf(addAs(named, withPayee('251900000005')))).toMatchObject({
      issues: { values: 'must have the payee account of the lost account: msisdn 251900000002' },
    });
    expect(await addAs(named, withPayee('251900000002'))).toBe(named);
    // A payment of the lost time needs it, and its credentials were not accepted.
    const { attemptId } = await desk.startDirect({ merchantId, orderNumber: 'L-1', phone: '0911224990' });
    await desk.query(sql`update core.payment_attempts set wallet_account_id = ${storedId('wac', named)}
      where id = ${storedId('pat', attemptId)}`);
    await merchantWallets.removeWalletAccount({ merchantId, walletAccountId: named });
    expect(await addAs(named, withPayee('251900000002'))).toBe(named);
  });

  test.each([
    ['of another merchant', async () => lose(null, 1)],
    ['that was added again', async () => addAs(await lose(null, 1), values)],
    ['that no restore lost', () => Promise.resolve(publicId('wac', v7()))],
  ])('is not one %s', async (whose, prepare) => {
    const id = (await prepare()) ?? '';
    if (whose === 'of another merchant') ({ id: merchantId } = await stack.createMerchant());

    expect(await failureOf(addAs(id, values))).toMatchObject({
      reason: 'INVALID_FIELDS',
      issues: { wallet_account_id: expect.stringContaining('must be an account of this merchant') },
    });
  });
});
