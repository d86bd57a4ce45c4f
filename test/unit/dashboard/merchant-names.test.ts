import { createClient, createRouterTransport } from '@connectrpc/connect';
import { expect, test } from '@jest/globals';
import type { FastifyRequest } from 'fastify';
import { merchantNames } from '../../../src/dashboard/operator/merchant-names.ts';
import { MerchantService } from '../../../src/gen/gatehouse/v1/merchant_service_pb.js';

test('the merchants of a page are asked for a few at a time', async () => {
  let underWay = 0;
  let most = 0;
  const core = createRouterTransport(({ service }) =>
    service(MerchantService, {
      async getMerchant({ merchantId }) {
        most = Math.max(most, (underWay += 1));
        await new Promise((resolve) => setImmediate(resolve));
        underWay -= 1;
        return { merchant: { name: `Shop ${merchantId}` } };
      },
    }),
  );
  const request = { id: 'request', viewer: null } as FastifyRequest;
  const page = Array.from({ length: 50 }, (_, index) => ({ merchantId: `mer_${index}` }));

  const names = await merchantNames(request, { merchants: createClient(MerchantService, core) }, page);

  expect([...names]).toHaveLength(50);
  expect(names.get('mer_49')).toBe('Shop mer_49');
  expect(most).toBe(8);
});
