import { afterEach, expect, test } from '@jest/globals';
import { Environment } from '../../src/gen/gatehouse/v1/order_pb.js';
import { RequestLogService } from '../../src/gen/gatehouse/v1/request_log_service_pb.js';
import type { GatehouseProcess } from '../support/gatehouse-process.ts';
import { startStack } from '../support/stack.ts';
import type { Stack } from '../support/stack.ts';
import { insist, waitUntil } from '../support/wait-until.ts';

let stack: Stack | undefined;

afterEach(async () => {
  stack?.cores[0]?.signal('SIGCONT');
  await stack?.stop();
});

/** The requests of a merchant that the facade has answered, as its own log says. */
const answered = ({ log }: GatehouseProcess, merchantId: string): number =>
  log.filter((line) => line.msg === 'request' && line['merchant_id'] === merchantId).length;

test('requests that the facade answers while core is frozen are later in the request log, or counted there as missing', async () => {
  const running = await startStack({
    ownProcesses: ['core'],
    settings: { GATEHOUSE_RATE_LIMIT_PER_KEY: '100' },
  });
  stack = running;
  const merchant = await running.createMerchant();
  const facade = running.facades[0]!.process;
  const ask = async (orderNumber: string): Promise<void> => {
    const response = await fetch(`${running.facades[0]?.sandbox}/api/v1/verify`, {
      method: 'POST',
      headers: { apiKey: merchant.testKey, 'content-type': 'application/json' },
      body: JSON.stringify({ order_number: orderNumber }),
    });
    await response.arrayBuffer();
  };
  await ask('before');

  running.cores[0]!.signal('SIGSTOP');
  // The facade remembers the key for three seconds. It cannot assign later requests to a merchant.
  await Promise.all(Array.from({ length: 400 }, (_, index) => ask(`W-${index}`)));
  running.cores[0]!.signal('SIGCONT');

  const log = running.client(RequestLogService, 'reader');
  const asked = { merchantId: merchant.id, environment: Environment.SANDBOX, pageSize: 500 };
  const seen = await waitUntil('each is in the log or counted', async () => {
    const reply = await insist('core answers', () => log.listApiRequests(asked));
    const sum = { kept: reply.requests.length, unkept: Number(reply.unkept) };
    return sum.kept + sum.unkept >= answered(facade, merchant.id) && sum;
  });

  expect(seen.kept + seen.unkept).toBe(answered(facade, merchant.id));
  expect(seen.unkept).toBeGreaterThan(0);
  expect(facade.log.map(({ msg }) => String(msg)).join('\n')).toContain(
    'requests were left out of the request log',
  );
});
