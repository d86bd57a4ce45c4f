import { runChecks } from './check.ts';
import type { CheckReport } from './check.ts';
import { startGatewayProxy } from './gateway-proxy.ts';
import { integrationChecks } from './integration-checks.ts';
import type { IntegrationLimits } from './integration-parts.ts';
import { openMerchantShop } from './merchant-shop.ts';
import { openWebhookSender } from './webhook-sender.ts';

export interface IntegrationCertification {
  /** The address of the sandbox. */
  readonly gateway: URL;
  /** The port of the proxy; 0: any free one. */
  readonly proxyPort: number;
  readonly webhookUrl: URL;
  readonly secret: string;
  readonly orderUrl: URL | undefined;
  readonly stateUrl: URL | undefined;
  readonly limits?: IntegrationLimits;
  readonly now: () => Date;
  readonly stop: AbortSignal;
  /** Called with the proxy's address when it accepts requests. */
  readonly onProxy: (origin: string) => void | Promise<void>;
  readonly ask: (line: string) => void;
  readonly onCheck: (report: CheckReport) => void;
}

/** A person needs longer than a program to place an order. */
const arrivalMs = { byProgram: 30_000, byPerson: 180_000 };

const standardLimits = {
  repeatMs: 60_000,
  slowMs: 8_000,
  retryAfterSeconds: 3,
  quietMs: 3_000,
  fulfilMs: 20_000,
};

/** Certifies the calls of a merchant's integration, and the fulfilment of its orders, through a proxy before the sandbox. */
export async function certifyIntegration(options: IntegrationCertification): Promise<readonly CheckReport[]> {
  const { gateway, proxyPort, webhookUrl, secret, orderUrl, stateUrl, now, stop, ask } = options;
  const limits = options.limits ?? {
    ...standardLimits,
    arrivalMs: orderUrl === undefined ? arrivalMs.byPerson : arrivalMs.byProgram,
  };
  const nowMs = (): number => now().getTime();
  const proxy = await startGatewayProxy({ gateway, port: proxyPort, nowMs });
  const sender = openWebhookSender({ url: webhookUrl, secret, answerMs: 15_000, now, stop });
  let current = '';
  try {
    await options.onProxy(proxy.origin);
    const shop = openMerchantShop({
      proxy,
      orderUrl,
      stateUrl,
      webhookUrl,
      ask: (line) => ask(`${current}: ${line}`),
      arrivalMs: limits.arrivalMs,
      stop,
    });
    const checks = integrationChecks({ shop, proxy, sender, limits, now, stop });
    return await runChecks('integration', checks, stop, options.onCheck, (name) => (current = name));
  } finally {
    await sender.close();
    await proxy.close();
  }
}
