import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { expect, test } from '@jest/globals';
import { newRandomId } from '../../../src/contract/public-id.ts';
import { Environment } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { ApiEndpoint, RequestLogService } from '../../../src/gen/gatehouse/v1/request_log_service_pb.js';
import { sharedClient, sharedMerchant, sharedStack } from '../../support/shared-stack.ts';

const environment = Environment.SANDBOX;
const stack = sharedStack({ facades: 0 });
const merchant = sharedMerchant(stack);
const facade = sharedClient(stack, RequestLogService, 'facade');
const reader = sharedClient(stack, RequestLogService, 'reader');

test('a call that a facade repeats stores its requests and counts once', async () => {
  const at = new Date();
  const { id: merchantId } = merchant;
  const call = () => ({
    requests: [1, 2].map(() => ({
      ...{ apiRequestId: newRandomId('req', at), merchantId, environment, apiKeyId: newRandomId('key', at) },
      ...{ endpoint: ApiEndpoint.VERIFY, method: 'POST', path: '/api/v1/verify', status: 200 },
      createTime: timestampFromDate(at),
    })),
    unkept: [{ merchantId, environment, count: 7n }],
  });
  const [first, second] = [call(), call()];

  // Core writes concurrent calls together.
  await Promise.all([first, second, first].map((each) => facade.recordApiRequests(each)));
  await facade.recordApiRequests(first);

  const { requests, unkept } = await reader.listApiRequests({ merchantId, environment });
  expect(requests).toHaveLength(4);
  expect(unkept).toBe(14n);
});
