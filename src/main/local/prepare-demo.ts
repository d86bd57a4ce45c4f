import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { createClient } from '@connectrpc/connect';
import type { Transport } from '@connectrpc/connect';
import { createGrpcTransport } from '../../contract/grpc-transport.ts';
import { RecoveryService } from '../../gen/gatehouse/v1/recovery_service_pb.js';
import type { Addresses } from './addresses.ts';
import { ensureDemoMerchant, readDemoMerchant } from './demo-merchant.ts';
import { ensureDemoUsers, readDemoUsers } from './demo-users.ts';
import { ensureWebhookSecrets } from './demo-webhook-secrets.ts';
import { readIfThere } from './private-file.ts';
import type { Secrets } from './secrets.ts';
import { untilAnswered } from './until-answered.ts';

/** The file in the data folder with the addresses, keys and logins of a start. */
export const demoFile = 'demo.json';

export interface PrepareDemoOptions {
  /** Called with a line about each finished step. */
  readonly report: (line: string) => void;
  /** Called with a line about each problem. */
  readonly warn: (line: string) => void;
  readonly signal: AbortSignal;
}

/** The demo merchant and users; empty while operators must first decide about the merchants of a restored database. */
export type SeededDemo = Awaited<ReturnType<typeof prepareDemo>>['seeded'];

/**
 * Prepares the demo merchant and the demo users. Each step keeps what an earlier try of it has created. While a restore may have lost the
 * merchant, none is created: operators first tell the running core whether it did.
 */
export async function prepareDemo(
  dataFolder: string,
  secrets: Secrets,
  { grpc, webhooks: { grpc: webhooksGrpc } }: Addresses,
  options: PrepareDemoOptions,
) {
  const { report } = options;
  const transportOf = (role: string, address: string) =>
    createGrpcTransport({ addresses: [address], token: secrets.service_tokens[role] ?? '' });
  const operator = transportOf('operator', grpc);
  const facade = transportOf('facade', grpc);
  const dashboard = transportOf('dashboard', grpc);
  const webhooks = transportOf('operator', webhooksGrpc);
  try {
    const text = await readIfThere(join(dataFolder, demoFile));
    const kept = readDemoMerchant(text);
    const merchant = await untilAnswered(
      () => ensureDemoMerchant({ operator, facade, kept, report }),
      options,
    );
    const recovering = () => untilAnswered(() => isRecovering(operator), options);
    if (merchant === undefined) return { seeded: {}, isRecovering: await recovering() };
    const sameMerchants = kept?.id === merchant.id ? kept : {};
    const merchantId = merchant.id;
    const webhookSecrets = await untilAnswered(
      () => ensureWebhookSecrets({ webhooks, merchantId, kept: sameMerchants, report }),
      options,
    );
    const users = await untilAnswered(
      () =>
        ensureDemoUsers({
          operator,
          dashboard,
          merchantId,
          kept: readDemoUsers(text),
          randomBytes,
          report,
        }),
      options,
    );
    return {
      seeded: { merchant: { ...merchant, ...webhookSecrets }, users },
      isRecovering: await recovering(),
    };
  } finally {
    for (const transport of [operator, facade, dashboard, webhooks]) transport.close();
  }
}

async function isRecovering(operator: Transport): Promise<boolean> {
  const { recovery } = await createClient(RecoveryService, operator).getRecovery({});
  return recovery !== undefined && recovery.closedEnvironments.length > 0;
}
