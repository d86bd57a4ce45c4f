import { randomBytes } from 'node:crypto';
import { beforeEach, expect, test } from '@jest/globals';
import { v7 } from 'uuid';
import { createAccountSeal } from '../../../src/core/merchant-wallets/account-seal.ts';
import type { AccountSeal } from '../../../src/core/merchant-wallets/account-seal.ts';
import { readUnreadable } from '../../../src/core/merchant-wallets/read-unreadable.ts';
import { resealAccounts } from '../../../src/core/merchant-wallets/reseal-accounts.ts';
import { CheckFinding, CheckResult } from '../../../src/gen/gatehouse/v1/diagnostics_service_pb.js';
import { accountKeys, masterAccountKey } from '../../../src/main/core-wallet-accounts.ts';
import { sharedConnection, sharedCoreDatabase, sharedTestDatabase } from '../../support/shared-stack.ts';
import { sql } from '../../support/sql.ts';
import { checksOfCore } from './doctor-checks.ts';
import { insertMerchant } from './stored-rows.ts';

const testDatabase = sharedTestDatabase();
const database = sharedCoreDatabase('encrypted accounts', () => testDatabase.url, 4);
const connection = sharedConnection(() => testDatabase.url);

const [first, second] = ['first', 'second'].map((name) => ({ name, key: randomBytes(32) }));
const old = createAccountSeal([first!], randomBytes);
const rotating = createAccountSeal([second!, first!], randomBytes);
const without = createAccountSeal([second!], randomBytes);

async function addAccount(): Promise<void> {
  const [merchantId, accountId] = [await insertMerchant(connection), v7()];
  const name = { merchantId, id: accountId, environment: 'SANDBOX', wallet: 'walleta' };
  await connection.query(sql`
    insert into core.wallet_accounts (merchant_id, id, environment, wallet, state, open_values, endings, key_name, sealed_secrets,
      check_result, created_at)
    values (${merchantId}, ${accountId}, 'SANDBOX', 'walleta', 'CURRENT', '{}', '{}', 'first',
      ${old.seal({ client_secret: 'secret' }, name).sealedSecrets}, 'ACCEPTED', now())`);
}
const keyNames = async () =>
  (
    await connection.query<{ key_name: string }>(`
      select key_name from core.wallet_accounts order by key_name`)
  ).rows.map((row) => row.key_name);

beforeEach(async () => {
  await connection.query('truncate core.merchants cascade');
  await addAccount();
});

test('accounts of another key are encrypted with the first one, in each pass', async () => {
  expect(await resealAccounts(database, rotating)).toEqual({ resealed: 1, unreadable: 0 });
  await addAccount();

  const later = await resealAccounts(database, rotating);

  expect(later).toEqual({ resealed: 1, unreadable: 0 });
  expect(await keyNames()).toEqual(['second', 'second']);
});

test('a core that has the new key behind the derived one leaves accounts to the cores that have only the derived one', async () => {
  const masterKey = randomBytes(32);
  const name = { merchantId: v7(), id: v7(), environment: 'SANDBOX', wallet: 'walleta' };
  const before = createAccountSeal([masterAccountKey(masterKey)], randomBytes);
  const appended = createAccountSeal(
    accountKeys(masterKey, [{ name: 'master', key: undefined }, second!]),
    randomBytes,
  );
  const moved = createAccountSeal(accountKeys(masterKey, [second!]), randomBytes);

  expect(before.open(appended.seal({ client_secret: 'secret' }, name), name)).toEqual({
    client_secret: 'secret',
  });
  expect(appended.open(moved.seal({ client_secret: 'secret' }, name), name)).toEqual({
    client_secret: 'secret',
  });
});

test('an account whose key is missing remains, and is named', async () => {
  const result = await resealAccounts(database, without);

  expect(result).toMatchObject({ resealed: 0, unreadable: 1 });
  expect(result.problem?.message).toContain('the key "first", which is not in GATEHOUSE_WALLET_ACCOUNT_KEYS');
  expect(await keyNames()).toEqual(['first']);
});

test('doctor names the accounts whose key is missing or has another value, and none while the right key is there', async () => {
  const changed = createAccountSeal([second!, { ...first!, key: randomBytes(32) }], randomBytes);
  const walletAccounts = async (seal: AccountSeal) => {
    const checks = await checksOfCore(database, {
      unreadableAccounts: () => readUnreadable(database.pool, seal),
    });
    return checks.find(({ name }) => name === 'wallet accounts')!;
  };

  expect(await walletAccounts(rotating)).toMatchObject({ result: CheckResult.OK, advice: '' });
  for (const seal of [without, changed])
    expect(await walletAccounts(seal)).toMatchObject({
      result: CheckResult.FAILED,
      finding: CheckFinding.ACCOUNTS_UNREADABLE,
      detail: expect.stringMatching(
        /cannot decrypt 1 wallet account: wac_\w{26} of mer_\w{26} \(walleta in sandbox, key "first"\)$/,
      ),
      advice: expect.stringContaining('GATEHOUSE_WALLET_ACCOUNT_KEYS'),
    });
});

test('an error of the database is not reported as an account that cannot be decrypted', async () => {
  await connection.query(`
create function core.refuse_update() returns trigger language plpgsql as $$ begin raise exception 'the disk is full'; end $$;
create trigger refuse before update on core.wallet_accounts for each row execute function core.refuse_update()`);
  try {
    await expect(resealAccounts(database, rotating)).rejects.toThrow('the disk is full');
  } finally {
    await connection.query('drop trigger refuse on core.wallet_accounts; drop function core.refuse_update()');
  }
  expect(await resealAccounts(database, rotating)).toEqual({ resealed: 1, unreadable: 0 });
});
