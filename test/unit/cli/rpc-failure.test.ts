import { once } from 'node:events';
import { createServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { Code, ConnectError } from '@connectrpc/connect';
import { connectNodeAdapter } from '@connectrpc/connect-node';
import { expect, test } from '@jest/globals';
import { openCore } from '../../../src/cli/core-clients.ts';
import { describeRpcFailure } from '../../../src/cli/rpc-failure.ts';
import { rpcError } from '../../../src/contract/error-reason.ts';
import { MerchantService } from '../../../src/gen/gatehouse/v1/merchant_service_pb.js';
import { runCommand } from '../../support/run-command.ts';

test('a decision that the recovery does not wait for is answered with the command that shows the open ones', () => {
  const refusal = rpcError('NOT_RECOVERING', 'the recovery does not wait for this decision');

  expect(describeRpcFailure(refusal, { addresses: [] })).toMatchObject({
    exitCode: 4,
    message: 'the recovery does not wait for this decision',
    advice: 'To see which decisions the recovery waits for: gatehouse restore status',
  });
});

test.each([
  ['Connection dropped', true],
  ['read ECONNRESET', true],
  ['No connection established. Last error: connect ECONNREFUSED 127.0.0.1:1', false],
  ['No connection established. Last error: null', false],
  ['Name resolution failed for target dns:core:50051', false],
  ['No connection established. Last error: Failed to connect', false],
])('an unavailable core with the message %j may have executed the call: %s', (message, maybe) => {
  const failure = describeRpcFailure(new ConnectError(message, Code.Unavailable), { addresses: ['core:1'] });

  expect(failure.exitCode).toBe(5);
  expect(failure.message).toMatch(
    maybe ? /^the connection to the core at core:1 was lost/ : /^no core answers/,
  );
  expect(failure.advice.includes('the change may have happened')).toBe(maybe);
});

test.each([
  ['merchant create --name Shop', 'lost', /may have been created.*: gatehouse merchant list\n/],
  ['key issue mer_1', 'lost', /the newest: gatehouse key list <merchant_id>\n/],
  ['key rotate mer_1 key_1', 'lost', /\nRevoke it if it is there: gatehouse key revoke/],
  ['merchant suspend mer_1', 'lost', /\nIf the command changes something, the change may have happened/],
  ['merchant list', 'lost', /lost before it answered[^\n]*\nTo find the cause: gatehouse doctor\n$/],
  [
    'merchant create --name Shop',
    'DATABASE_UNAVAILABLE',
    /may have been created.*: gatehouse merchant list\n/,
  ],
  [
    'merchant suspend mer_1',
    'DATABASE_UNAVAILABLE',
    /\nIf the command changes something, the change may have happened/,
  ],
  ['merchant list', 'DATABASE_UNAVAILABLE', /not now\nTo find the cause: gatehouse doctor\n$/],
] as const)(
  'when the answer to "%s" is lost (%s), the advice is how to find out what happened',
  async (line, fault, advice) => {
    const fail = (): never => {
      throw rpcError('DATABASE_UNAVAILABLE', 'not now');
    };
    const answer = connectNodeAdapter({
      routes: ({ service }) =>
        service(MerchantService, { createMerchant: fail, suspendMerchant: fail, listMerchants: fail }),
    });
    const core = createServer((request, response) =>
      fault === 'lost' ? request.stream.session?.destroy() : answer(request, response),
    );
    core.listen(0, '127.0.0.1');
    await once(core, 'listening');
    const address = `127.0.0.1:${(core.address() as AddressInfo).port}`;
    const settings = { GATEHOUSE_CORE_ADDRESSES: address, GATEHOUSE_SERVICE_TOKEN: 'token' };

    const { exitCode, stderr } = await runCommand(line.split(' '), settings, {
      openCore: (addresses, token) => openCore({ addresses, token, actor: 'me', newRequestId: () => 'req' }),
    });
    core.close();

    expect(exitCode).toBe(5);
    expect(stderr).toMatch(advice);
  },
);

test.each([
  ['core', true],
  ['webhooks process', true],
  ['core', false],
] as const)(
  'a %s that gives no answer is stopped and started again, not started twice (doctor: %s)',
  (server, isDoctor) => {
    const silent = new ConnectError('Deadline exceeded after 5.001s', Code.DeadlineExceeded);

    const { message, advice } = describeRpcFailure(silent, { addresses: ['core:1'], server, isDoctor });

    expect(message).toBe(`no ${server} answers at core:1 (no answer came in time)`);
    expect(advice).toContain('Read its log. Stop it, and start it again.');
    expect(advice).not.toMatch(/npm start|Core exits/);
  },
);
