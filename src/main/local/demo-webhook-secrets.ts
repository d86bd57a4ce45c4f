import { createClient } from '@connectrpc/connect';
import type { Transport } from '@connectrpc/connect';
import { durationFromMs } from '@bufbuild/protobuf/wkt';
import { Environment } from '../../gen/gatehouse/v1/order_pb.js';
import { WebhookService } from '../../gen/gatehouse/v1/webhook_service_pb.js';

/** The signing secrets of the demo merchant. */
export interface WebhookSecrets {
  readonly test_webhook_secret: string;
  readonly live_webhook_secret: string;
}

/**
 * Ensures that the demo merchant has a known signing secret in each environment. It keeps the one of an earlier start
 * while that signs. Otherwise it creates one that signs at once.
 */
export async function ensureWebhookSecrets(options: {
  readonly webhooks: Transport;
  readonly merchantId: string;
  readonly kept: { readonly [Name in keyof WebhookSecrets]?: string | undefined };
  readonly report: (line: string) => void;
}): Promise<WebhookSecrets> {
  const { merchantId, kept, report } = options;
  const webhooks = createClient(WebhookService, options.webhooks);
  const { signingSecrets } = await webhooks.listSigningSecrets({ merchantId });
  const secretFor = async (environment: Environment, keptSecret: string | undefined): Promise<string> => {
    const signing = signingSecrets.filter((secret) => secret.environment === environment);
    if (keptSecret !== undefined && signing.some(({ ending }) => keptSecret.endsWith(ending)))
      return keptSecret;
    const { secret } = await webhooks.rotateSigningSecret({
      merchantId,
      environment,
      promoteAfter: durationFromMs(0),
    });
    return secret;
  };
  const secrets = {
    test_webhook_secret: await secretFor(Environment.SANDBOX, kept.test_webhook_secret),
    live_webhook_secret: await secretFor(Environment.PRODUCTION, kept.live_webhook_secret),
  };
  const isNew =
    secrets.test_webhook_secret !== kept.test_webhook_secret ||
    secrets.live_webhook_secret !== kept.live_webhook_secret;
  if (isNew && signingSecrets.some(({ shown }) => shown))
    report(
      `Demo merchant ${merchantId} has new webhook secrets, because demo.json lacks the earlier ones, or they no longer sign`,
    );
  return secrets;
}
