import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../platform/logger.ts';
import type { PayerStartedPayments, PayerStartedUrls, Registration } from './connector/wallet-connector.ts';

const triesAtStart = 10;
const betweenTriesMs = 3_000;

/**
 * Registers the URLs when a process starts. A wallet that has them already, or refuses, is not asked again. Payments that this
 * Gatehouse requests do not depend on it, so a failure is only logged.
 */
export async function registerAtStart(
  payerStarted: PayerStartedPayments,
  urls: PayerStartedUrls,
  { wallet, logger }: { readonly wallet: string; readonly logger: Logger },
  stop: AbortSignal,
): Promise<void> {
  for (let tried = 1; tried <= triesAtStart && !stop.aborted; tried += 1) {
    const { result } = await payerStarted.register(urls, { signal: stop });
    if (result.kind === 'registered' || result.kind === 'already_registered') {
      logger.info({ wallet, result: result.kind }, 'URLs for payments that payers start');
      return;
    }
    if (result.kind === 'refused') break;
    await sleep(betweenTriesMs, undefined, { signal: stop }).catch(() => undefined);
  }
  if (!stop.aborted)
    logger.warn({ wallet }, 'the wallet did not register the URLs for payments that payers start');
}

/** What a wallet answered to a registration, in one sentence for the operator. */
export function registrationText(result: Registration): string {
  switch (result.kind) {
    case 'registered':
      return 'registered';
    case 'already_registered':
      return 'URLs are registered already; only the provider can change them';
    case 'refused':
      return `refused: ${[result.reason, result.providerText].filter((text) => text !== '').join(' ')}`;
    case 'unknown':
    case 'not_sent':
      return `no answer: ${result.detail}`;
  }
}
