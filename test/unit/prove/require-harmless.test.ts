import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { expect, test } from '@jest/globals';
import { StartError } from '../../../src/main/local/start-error.ts';
import { requireHarmlessDatabase } from '../../../src/main/prove/require-harmless.ts';

/** AuthenticationOk and ReadyForQuery of PostgreSQL's protocol. */
const loggedIn = Buffer.from('520000000800000000' + '5a0000000549', 'hex');

test('a campaign does not wait for ever for a database that accepts connections and answers nothing', async () => {
  const server = createServer((socket) => socket.once('data', () => socket.write(loggedIn)));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = `postgres://prove@127.0.0.1:${(server.address() as AddressInfo).port}/hangs`;
  try {
    await expect(requireHarmlessDatabase(url)).rejects.toThrow(StartError);
  } finally {
    server.close();
  }
});
