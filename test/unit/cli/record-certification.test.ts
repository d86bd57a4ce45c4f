import { Code, ConnectError, createClient, createRouterTransport } from '@connectrpc/connect';
import { expect, test } from '@jest/globals';
import { recordCertification } from '../../../src/cli/certify/record-certification.ts';
import { MerchantService } from '../../../src/gen/gatehouse/v1/merchant_service_pb.js';

/** Records a run with a core that is unavailable for the first calls. */
async function recordAfter(failures: number) {
  let calls = 0;
  const transport = createRouterTransport(({ rpc }) =>
    rpc(MerchantService.method.recordCertification, () => {
      calls += 1;
      if (calls <= failures) throw new ConnectError('No connection established', Code.Unavailable);
      return {};
    }),
  );
  return recordCertification(
    createClient(MerchantService, transport),
    'mer_1',
    { at: new Date(0), webhookUrl: 'http://a.example', parts: [], checks: [] },
    { addresses: ['core:50051'], pauseMs: 0, stop: new AbortController().signal },
  );
}

test('the results of a run are recorded when core is available again', async () => {
  expect(await recordAfter(3)).toEqual({
    note: 'Recorded for mer_1.',
    json: { merchant_id: 'mer_1', recorded: true },
  });
});

test('results that could not be recorded name the core that did not answer', async () => {
  expect(await recordAfter(100)).toMatchObject({
    note: expect.stringContaining('NOT recorded: no core answers at core:50051'),
    json: { merchant_id: 'mer_1', recorded: false },
    exitCode: 5,
  });
});
