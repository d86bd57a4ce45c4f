import { afterEach, expect, test } from '@jest/globals';
import { Environment } from '../../src/gen/gatehouse/v1/order_pb.js';
import { RequestLogService } from '../../src/gen/gatehouse/v1/request_log_service_pb.js';
import { startStack } from '../support/stack.ts';
import type { Stack } from '../support/stack.ts';
import { insist, waitUntil } from '../support/wait-until.ts';

let stack: Stack | undefined;

afterEach(async () => {
  stack?.cores[0]?.signal('SIGCONT');
  await stack?.stop();
});

test('requests answered while core hangs are in the log, or counted, when it goes on', async () => {
  const running = await startStack({ ownProcesses: true, settings: { GATEHOUSE_RATE_LIMIT_PER_KEY: '100' } });
  stack = running;
  const merchant = await running.createMerchant();
  const ask = async (orderNumber: string): Promise<number> => {
    const response = await fetch(`${running.facades[0]?.sandbox}/api/v1/verify`, {
      method: 'POST',
      headers: { apiKey: merchant.testKey, 'content-type': 'application/json' },
      body: JSON.stringify({ order_number: orderNumber }),
    });
    return response.status;
  };
  await ask('before');

  running.cores[0]!.signal('SIGSTOP');
  // The key is still known, so that these are refused without core, and noted.
  const statuses = await Promise.all(Array.from({ length: 400 }, (_, index) => ask(`W-${index}`)));
  running.cores[0]!.signal('SIGCONT');

  const log = running.client(RequestLogService, 'reader');
  const asked = { merchantId: merchant.id, environment: Environment.SANDBOX, pageSize: 500 };
  const seen = await waitUntil('each is in the log or counted', async () => {
    const reply = await insist('core answers', () => log.listApiRequests(asked));
    const sum = { kept: reply.requests.length, unkept: Number(reply.unkept) };
    return sum.kept + sum.unkept >= statuses.length + 1 && sum;
  });

  expect(seen.kept + seen.unkept).toBe(statuses.length + 1);
  expect(seen.unkept).toBeGreaterThan(0);
  expect(running.facades[0]!.process.log.map(({ msg }) => String(msg)).join('\n')).toContain(
    'requests are not in the request log',
  );
});
