import type { Socket } from 'node:net';
import { expect, test } from '@jest/globals';
import { StartError } from '../../../src/main/local/start-error.ts';
import { describeMachine } from '../../../src/main/prove/describe-machine.ts';
import { requireHarmlessDatabase } from '../../../src/main/prove/require-harmless.ts';
import { startTcpServer } from '../../integration/webhooks/receivers.ts';
import { closersOfEachTest } from '../../support/shared-stack.ts';

const closers = closersOfEachTest();

async function startDatabase(serve: (socket: Socket) => void): Promise<string> {
  const server = await startTcpServer(serve);
  closers.push(server.close);
  return `postgres://prove@127.0.0.1:${server.port}/hangs`;
}

/** AuthenticationOk and ReadyForQuery of PostgreSQL's protocol. */
const loggedIn = Buffer.from('520000000800000000' + '5a0000000549', 'hex');

test('a campaign does not wait for ever for a database that accepts connections and answers nothing', async () => {
  const url = await startDatabase((socket) => socket.once('data', () => socket.write(loggedIn)));

  await expect(requireHarmlessDatabase(url)).rejects.toThrow(StartError);
});

test.each([
  ['ends the connection', (socket: Socket) => void socket.resetAndDestroy()],
  ['hangs', () => undefined],
])('the machine of a campaign is described even if its database %s', async (_, serve) => {
  const url = await startDatabase(serve);

  expect(await describeMachine('/', url)).toMatchObject({ database: 'unknown', node: process.version });
});
