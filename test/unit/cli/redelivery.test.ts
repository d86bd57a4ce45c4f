import { Code, ConnectError, createClient, createRouterTransport } from '@connectrpc/connect';
import { expect, test } from '@jest/globals';
import { Command } from 'commander';
import type { WebhookClients } from '../../../src/cli/webhook-clients.ts';
import { addRedeliveryCommands } from '../../../src/cli/webhook-redelivery-commands.ts';
import { WebhookService } from '../../../src/gen/gatehouse/v1/webhook_service_pb.js';

test('a script learns the id of a redelivery whose end the command did not see', async () => {
  const transport = createRouterTransport(({ rpc }) => {
    rpc(WebhookService.method.startRedelivery, () => ({ redelivery: { redeliveryId: 'whr_1' } }));
    rpc(WebhookService.method.getRedelivery, () => {
      throw new ConnectError('Connection dropped', Code.Unavailable);
    });
  });
  const webhooks = createClient(WebhookService, transport);
  const noted: unknown[] = [];
  const program = new Command();
  addRedeliveryCommands(program, {
    run: async (use) => void (await use({ webhooks } as WebhookClients)),
    findMerchant: () => Promise.resolve('mer_1'),
    now: () => new Date(0),
    report: () => {},
    note: (_, json) => noted.push(json),
    interruption: () => new AbortController().signal,
  });

  await expect(
    program.parseAsync(['redeliver', 'mer_1', '--since', '24h'], { from: 'user' }),
  ).rejects.toMatchObject({ code: Code.Unavailable });

  expect(noted).toEqual([{ redelivery_id: 'whr_1' }]);
});
