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
  let detail = '';
  for (let tried = 1; tried <= triesAtStart && !stop.aborted; tried += 1) {
    const { result } = await payerStarted.register(urls, { signal: stop });
    if (result.kind === 'registered' || result.kind === 'already_registered') {
      logger.info({ wallet, result: result.kind }, 'the wallet has the URLs for payer-started payments');
      return;
    }
    detail = 'detail' in result ? result.detail : registrationText(result);
    if (result.kind === 'refused') break;
    await sleep(betweenTriesMs, undefined, { signal: stop }).catch(() => undefined);
  }
  if (!stop.aborted)
    logger.warn(
      { wallet, detail },
      'the wallet did not register the URLs for payer-started payments; run gatehouse wallet register-urls <wallet>',
    );
}

/** The answer of a wallet to a registration, in one sentence for the operator. */
export function registrationText(result: Registration): string {
  switch (result.kind) {
    case 'registered':
      return 'the provider registered the URLs';
    case 'already_registered':
      return 'the provider already has URLs for this account; ask the provider whether they are these URLs, and to change them if not';
    case 'refused':
      return `the provider refuses the URLs: ${`${result.providerCode} ${result.providerText}`.trim()}`;
    case 'unknown':
      return `the provider gave no usable answer, so run this command again: ${result.detail}`;
    case 'not_sent':
      return `the provider was not reached, so run this command again: ${result.detail}`;
  }
}
