import { afterEach, expect, test } from '@jest/globals';
import { ApiKeyService } from '../../src/gen/gatehouse/v1/api_key_service_pb.js';
import { startStack } from '../support/stack.ts';
import type { Stack } from '../support/stack.ts';
import { withinTenSeconds } from './within-ten-seconds.ts';

let stack: Stack | undefined;

afterEach(() => stack?.stop());

/** Each is a line of a few hundred bytes. Unread, they are more than any pipe or socket holds. */
const calls = 1_000;
const callers = 20;

async function keepBusy(call: () => Promise<unknown>): Promise<void> {
  const caller = async (): Promise<void> => {
    for (let made = 0; made < calls / callers; made += 1) await call();
  };
  await Promise.all(Array.from({ length: callers }, caller));
}

// lifecycle.test.ts proves the same of a log whose reader goes away.
test('processes whose log is unread serve requests, and exit with code 0 within 10 s of SIGTERM', async () => {
  stack = await startStack({ ownProcesses: true, cores: 1, facades: 1, webhooks: 1 });
  const { id } = await stack.createMerchant();
  const [core, facade, webhooks] = [stack.cores[0]!, stack.facades[0]!, stack.webhooks[0]!];
  const processes = [webhooks, facade.process, core];
  const apiKeys = stack.client(ApiKeyService, 'operator');
  const webhookService = stack.webhookClient('reader');
  for (const process of processes) process.leaveLogUnread();

  await keepBusy(() => fetch(`${facade.sandbox}/nothing/here`).then((answer) => answer.arrayBuffer()));
  await keepBusy(() => apiKeys.listApiKeys({ merchantId: id }));
  await keepBusy(() => webhookService.listEndpoints({ merchantId: id }));
  const exitCodes: (number | null)[] = [];
  for (const process of processes)
    exitCodes.push(await withinTenSeconds('stopping', process.stop('SIGTERM')));

  expect(exitCodes).toEqual([0, 0, 0]);
});
