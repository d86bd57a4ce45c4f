import { describe, expect, test } from '@jest/globals';
import { MerchantService } from '../../src/gen/gatehouse/v1/merchant_service_pb.js';
import { Environment } from '../../src/gen/gatehouse/v1/order_pb.js';
import { OrderService } from '../../src/gen/gatehouse/v1/order_service_pb.js';
import { newRandomId } from '../../src/contract/public-id.ts';
import { registration } from '../support/order-requests.ts';
import { storedId } from '../support/ids.ts';
import { sharedClient, sharedConnection, sharedStack } from '../support/shared-stack.ts';
import { sharedCommandLine, widthOf } from './cli-harness.ts';

const stack = sharedStack({ facades: 0 });
const cli = sharedCommandLine(stack);
const database = sharedConnection(() => stack.databaseUrl);
const merchants = sharedClient(stack, MerchantService, 'operator');

const update = async (...options: readonly string[]) => {
  const { id } = await stack.createMerchant();
  return { id, ...(await cli.run('merchant', 'update', id, ...options)) };
};

describe('merchant update', () => {
  test('changes and shows all terms of a merchant, and core enforces them', async () => {
    const { id, exitCode, stdout, stderr } = await update(
      ...['--name', 'ቡና & Co', '--session-lifetime', '45m', '--sandbox-options', 'walleta_ussd,walletb_ussd'],
      ...['--production-options', 'walleta_ussd', '--currencies', 'usd,etb'],
      ...['--largest-amounts', 'ETB=50000,USD=900.50', '--requests-per-second', '20'],
      ...['--contact-phone', '8118', '--contact-email', 'help@shop.example'],
    );

    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toMatch(/^Name +ቡና & Co$/m);
    expect(stdout).toMatch(/^Time to pay +45m$/m);
    expect(stdout).toMatch(/^Sandbox options +walleta_ussd, walletb_ussd$/m);
    expect(stdout).toMatch(/^Production options +walleta_ussd$/m);
    expect(stdout).toMatch(/^Currencies +.*USD/m);
    expect(stdout).toMatch(/^Largest amounts +.*900\.50 USD/m);
    expect(stdout).toMatch(/^Contact +8118, help@shop\.example$/m);
    expect(stdout).toMatch(/^Requests +20 a second for each key$/m);
    expect(widthOf(stdout)).toBeLessThanOrEqual(100);
    const { merchant } = await merchants.getMerchant({ merchantId: id });
    expect(merchant?.terms?.requestsPerSecond).toBe(20);
    await expect(
      stack.client(OrderService, 'operator').registerOrder(
        registration({
          merchantId: id,
          environment: Environment.SANDBOX,
          amount: '50000.01',
          currency: 'ETB',
        }),
      ),
    ).rejects.toThrow();
  });

  test('keeps values that are not given, and removes limits by all, none and standard', async () => {
    const { id } = await update(
      ...['--currencies', 'USD', '--requests-per-second', '5', '--name', 'Before'],
      ...['--contact-phone', '8118', '--contact-email', 'help@shop.example'],
    );

    await cli.json('merchant', 'update', id, '--name', 'After', '--contact-email', 'none');
    const kept = await cli.json('merchant', 'show', id);
    await cli.json('merchant', 'update', id, '--currencies', 'all', '--requests-per-second', 'standard');
    const freed = await cli.json('merchant', 'show', id);

    expect(kept).toMatchObject({
      name: 'After',
      terms: { currencies: ['USD'], requests_per_second: 5 },
      contact: { phone: '8118', email: '' },
    });
    expect(freed).toMatchObject({ name: 'After', terms: { currencies: [], requests_per_second: 0 } });
  });

  test('changes the name of a merchant whose terms name a wallet that was removed', async () => {
    const { id } = await stack.createMerchant();
    await database.query(
      `update core.merchants set production_payment_options = '{removed_ussd}' where id = $1`,
      [storedId('mer', id)],
    );

    const renamed = await cli.run('merchant', 'update', id, '--name', 'Renamed');

    expect(renamed).toMatchObject({ exitCode: 0, stderr: '' });
    const { rows } = await database.query(
      "select details from core.audit_entries where action = 'merchant.update' and target_id = $1",
      [id],
    );
    expect(rows).toEqual([{ details: { name: 'Renamed' } }]);
  });

  test('appears in the audit log', async () => {
    const { id } = await update('--name', 'Renamed');

    const { stdout } = await cli.run('audit', 'list', '--merchant', id);

    expect(stdout).toContain('merchant.update');
  });

  test.each<[readonly string[], string]>([
    [[], 'nothing would change'],
    [['--sandbox-options', 'cash'], 'gatehouse wallet list'],
    [['--largest-amounts', '50000'], 'ETB=50000'],
    [['--requests-per-second', '0'], '1 to 100000'],
    [['--currencies', 'XYZ'], 'currencies'],
    [['--session-lifetime', '1m'], 'session_lifetime'],
    [['--contact-phone', 'call us'], 'contact.phone'],
  ])('refuses %j, and says what to do', async (options, word) => {
    const { exitCode, stdout, stderr } = await update(...options);

    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toContain(word);
  });

  test('reports an unknown merchant', async () => {
    const id = newRandomId('mer', new Date());

    const { exitCode, stderr } = await cli.run('merchant', 'update', id, '--name', 'X');

    expect(exitCode).toBe(3);
    expect(stderr).toContain(id);
  });
});
