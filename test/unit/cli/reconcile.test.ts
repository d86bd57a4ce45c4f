import { Code, ConnectError, createClient, createRouterTransport } from '@connectrpc/connect';
import { expect, test } from '@jest/globals';
import { Command } from 'commander';
import type { CoreClients } from '../../../src/cli/core-clients.ts';
import { addReconcileCommands } from '../../../src/cli/reconcile-commands.ts';
import { ReconciliationService } from '../../../src/gen/gatehouse/v1/reconciliation_service_pb.js';

test('a script learns the id of a reconciliation whose end the command did not see', async () => {
  const transport = createRouterTransport(({ rpc }) => {
    rpc(ReconciliationService.method.startReconciliation, () => ({
      reconciliation: { reconciliationId: 'rec_1' },
    }));
    rpc(ReconciliationService.method.getReconciliation, () => {
      throw new ConnectError('Connection dropped', Code.Unavailable);
    });
  });
  const reconciliations = createClient(ReconciliationService, transport);
  const noted: unknown[] = [];
  const program = new Command();
  addReconcileCommands(program, {
    run: async (use) => void (await use({ reconciliations } as CoreClients)),
    now: () => new Date(0),
    report: () => {},
    note: (_, json) => noted.push(json),
  });

  await expect(
    program.parseAsync(['reconcile', '--wallet', 'walleta'], { from: 'user' }),
  ).rejects.toMatchObject({ code: Code.Unavailable });

  expect(noted).toEqual([{ reconciliation_id: 'rec_1' }]);
});
