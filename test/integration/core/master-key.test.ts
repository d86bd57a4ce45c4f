import { afterEach, expect, test } from '@jest/globals';
import {
  CheckFinding,
  CheckSubject,
  DiagnosticsService,
} from '../../../src/gen/gatehouse/v1/diagnostics_service_pb.js';
import { MerchantWalletService } from '../../../src/gen/gatehouse/v1/merchant_wallet_service_pb.js';
import { Environment } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { RecoveryService } from '../../../src/gen/gatehouse/v1/recovery_service_pb.js';
import { startInline } from '../../support/inline-process.ts';
import { sharedClient, sharedConnection, sharedStack } from '../../support/shared-stack.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { sharedAccountDesk } from './account-desk.ts';

const stack = sharedStack({ facades: 0 });
const connection = sharedConnection(() => stack.databaseUrl);
const desk = sharedAccountDesk(stack);
const diagnostics = sharedClient(stack, DiagnosticsService, 'operator');

const refusal = 'GATEHOUSE_MASTER_KEY is not the master key of this database';
const otherKey = 'ab'.repeat(32);

/** Starts and stops one more core of the same database. */
async function startCoreWith(masterKey = stack.ground.masterKey): Promise<void> {
  const core = await startInline('core', { ...stack.coreSettings, GATEHOUSE_MASTER_KEY: masterKey });
  await core.stop();
}

const check = async (): Promise<string> => {
  const { rows } = await connection.query<{ check: string | null }>(
    "select encode(master_key_check, 'hex') as check from core.database_life",
  );
  return rows[0]?.check ?? 'null';
};
const setCheck = (value: Buffer | null) =>
  connection.query('update core.database_life set master_key_check = $1', [value]);

let original: string | undefined;
afterEach(async () => {
  if (original !== undefined) await setCheck(Buffer.from(original, 'hex'));
});

test('core does not start with another master key than that of its database, unless an operator has accepted that the key is lost', async () => {
  original = await check();
  await startCoreWith();
  await expect(startCoreWith(otherKey)).rejects.toThrow(refusal);
  expect(await check()).toBe(original);

  await setCheck(Buffer.alloc(0));
  await startCoreWith(otherKey);
  await expect(startCoreWith()).rejects.toThrow(refusal);
});

test.each(['one-time codes', 'a wallet account'])(
  'a database of an earlier version shows its master key by %s',
  async (kind) => {
    original = await check();
    await connection.query('delete from core.wallet_accounts');
    if (kind === 'one-time codes') await desk.enableTotp((await desk.addUser()).userId);
    else {
      await connection.query('update core.users set totp_secret = null, totp_enabled_at = null');
      const { id: merchantId } = await stack.createMerchant();
      await stack.client(MerchantWalletService, 'dashboard').addWalletAccount({
        ...{ merchantId, environment: Environment.SANDBOX, wallet: 'walleta' },
        values: {
          client_id: 'shoes',
          client_secret: 'none',
          'payee.type': 'msisdn',
          'payee.id': '251900000001',
        },
      });
    }
    await setCheck(null);

    await expect(startCoreWith(otherKey)).rejects.toThrow(refusal);
    expect(await check()).toBe('null');
    await startCoreWith();
    expect(await check()).toBe(original);
  },
);

test('a core whose database is replaced by one with another master key opens it for no payments, and doctor says why', async () => {
  original = await check();
  const { rows } = await connection.query<{ home: string }>('select home from core.database_life');
  const finding = async () => {
    const { checks } = await diagnostics.diagnose({});
    return checks.find(({ subject }) => subject === CheckSubject.MASTER_KEY)?.finding;
  };
  const { log } = stack.cores[0]!;
  expect(await finding()).toBe(CheckFinding.HEALTHY);

  await setCheck(Buffer.from(otherKey, 'hex'));
  await connection.query("update core.database_life set home = 'another server'");

  expect(await finding()).toBe(CheckFinding.FOREIGN_KEY);
  await waitUntil('core says so', () => log.find(({ msg }) => msg?.includes('another master key') === true));
  const recoveries = stack.client(RecoveryService, 'operator');
  expect((await recoveries.getRecovery({})).recovery).toBeUndefined();
  await connection.query('update core.database_life set home = $1', [rows[0]?.home]);
});
