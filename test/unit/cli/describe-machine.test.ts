import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { expect, test } from '@jest/globals';
import { describeMachine } from '../../../src/main/prove/describe-machine.ts';

test.each([
  ['ends the connection', (socket: Socket) => socket.resetAndDestroy()],
  ['hangs', () => undefined],
])('the machine of a campaign is described even if its database %s', async (_, accept) => {
  const server = createServer(accept).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `postgres://127.0.0.1:${(server.address() as AddressInfo).port}/gone`;
  try {
    expect(await describeMachine('/', url)).toMatchObject({ database: 'unknown', node: process.version });
  } finally {
    server.close();
  }
});
