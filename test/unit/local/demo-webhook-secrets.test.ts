import { describe, expect, test } from '@jest/globals';
import { createRouterTransport } from '@connectrpc/connect';
import { Environment } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { WebhookService } from '../../../src/gen/gatehouse/v1/webhook_service_pb.js';
import { ensureWebhookSecrets } from '../../../src/main/local/demo-webhook-secrets.ts';

/** A webhooks process with these secrets, which records the secrets that it was asked to create. */
function webhooksWith(secrets: readonly { environment: Environment; text: string; shown?: boolean }[]) {
  const rotated: { environment: Environment; promoteAfterSeconds: bigint | undefined }[] = [];
  const transport = createRouterTransport(({ rpc }) => {
    rpc(WebhookService.method.listSigningSecrets, () => ({
      signingSecrets: secrets.map(({ environment, text, shown = true }) => ({
        environment,
        ending: text.slice(-4),
        shown,
      })),
    }));
    rpc(WebhookService.method.rotateSigningSecret, ({ environment, promoteAfter }) => {
      rotated.push({ environment, promoteAfterSeconds: promoteAfter?.seconds });
      return { secret: `whsec_new_${Environment[environment]}` };
    });
  });
  return { transport, rotated };
}

async function ensure(
  webhooks: ReturnType<typeof webhooksWith>,
  kept: { test_webhook_secret?: string; live_webhook_secret?: string },
) {
  const reports: string[] = [];
  const report = (line: string) => reports.push(line);
  const options = { webhooks: webhooks.transport, merchantId: 'mer_1', kept, report };
  return { secrets: await ensureWebhookSecrets(options), reports };
}

const kept = { test_webhook_secret: 'whsec_testAAAA', live_webhook_secret: 'whsec_liveBBBB' };

describe("the demo merchant's webhook secrets", () => {
  test('are created on the first start, and sign at once', async () => {
    const webhooks = webhooksWith([]);

    const { secrets, reports } = await ensure(webhooks, {});

    expect(secrets).toEqual({
      test_webhook_secret: 'whsec_new_SANDBOX',
      live_webhook_secret: 'whsec_new_PRODUCTION',
    });
    expect(webhooks.rotated).toEqual([
      { environment: Environment.SANDBOX, promoteAfterSeconds: 0n },
      { environment: Environment.PRODUCTION, promoteAfterSeconds: 0n },
    ]);
    expect(reports).toEqual([]);
  });

  test('are kept while they sign', async () => {
    const webhooks = webhooksWith([
      { environment: Environment.SANDBOX, text: kept.test_webhook_secret },
      { environment: Environment.SANDBOX, text: 'whsec_nextCCCC' },
      { environment: Environment.PRODUCTION, text: kept.live_webhook_secret },
    ]);

    expect(await ensure(webhooks, kept)).toEqual({ secrets: kept, reports: [] });
    expect(webhooks.rotated).toEqual([]);
  });

  test('are replaced, with a message, when they no longer sign', async () => {
    const webhooks = webhooksWith([
      { environment: Environment.SANDBOX, text: 'whsec_otherDDDD' },
      { environment: Environment.PRODUCTION, text: kept.live_webhook_secret },
    ]);

    const { secrets, reports } = await ensure(webhooks, kept);

    expect(secrets).toEqual({ ...kept, test_webhook_secret: 'whsec_new_SANDBOX' });
    expect(reports).toEqual([expect.stringContaining('mer_1 has new webhook secrets')]);
  });

  test('that were never shown are replaced without a message', async () => {
    const webhooks = webhooksWith([
      { environment: Environment.SANDBOX, text: 'whsec_ownEEEE', shown: false },
    ]);

    expect((await ensure(webhooks, {})).reports).toEqual([]);
  });
});
