import { timestampMs } from '@bufbuild/protobuf/wkt';
import type { FastifyInstance } from 'fastify';
import type { WalletDirectory } from '../../contract/wallet-directory.ts';
import { channelOf, isPaymentOption } from '../../contract/payment-option.ts';
import type { MerchantWallet } from '../../gen/gatehouse/v1/merchant_wallet_service_pb.js';
import { mayOpenDeveloperPages, pageMerchantOf, pathIn, scopeOf } from '../access/page-context.ts';
import { loadPanel } from '../try-call.ts';
import type { Dashboard } from '../dashboard.ts';
import { quickStart as amharic } from '../language/amharic/quick-start.ts';
import { quickStart as english } from '../language/english/quick-start.ts';
import { wordsFor } from '../language/words.ts';
import { isSnippetLanguage, readSnippets } from './snippets.ts';

const dictionary = { en: english, am: amharic };
const names = { curl: 'curl', typescript: 'TypeScript', python: 'Python', php: 'PHP' } as const;

/** The page with a first order in curl and in each language of the client libraries. */
export function addQuickStart(app: FastifyInstance, dashboard: Dashboard): void {
  const { clients, sendPage, restUrls, now } = dashboard;

  app.get('/m/:merchantId/:environment/quick-start', async (request, reply) => {
    const { code } = request.query as { readonly code?: unknown };
    const language = isSnippetLanguage(code) ? code : 'curl';
    const pageMerchant = pageMerchantOf(request);
    const baseUrl = restUrls[pageMerchant.environment ?? 'sandbox'];
    const words = wordsFor(request, dictionary);
    const prefix = await loadPanel(request, async (options) => {
      const { apiKeys } = await clients.apiKeys.listApiKeys(scopeOf(request), options);
      const nowMs = now().getTime();
      return apiKeys.find(
        ({ revokeTime, expireTime }) =>
          revokeTime === undefined && (expireTime === undefined || timestampMs(expireTime) > nowMs),
      )?.prefix;
    });
    const wallets = await loadPanel(request, async (options) => {
      const { wallets: found } = await clients.merchantWallets.listMerchantWallets(scopeOf(request), options);
      return found.filter(({ on }) => on);
    });
    const payment = examplePayment(wallets.isThere ? wallets.value : [], request.wallets);
    const self = pathIn(pageMerchant, 'quick-start');
    const mayOpen = mayOpenDeveloperPages(request);
    return sendPage(request, reply, {
      template: 'developers/quick-start',
      title: words.title,
      area: 'quickStart',
      words,
      view: {
        languages: Object.entries(names).map(([value, name]) => ({
          name,
          href: `${self}?code=${value}`,
          current: value === language,
        })),
        snippets: await readSnippets(language, { baseUrl, ...payment }),
        wallets,
        isDirectPossible: payment.option !== '',
        walletsPath: pathIn(pageMerchant, 'wallets'),
        prefix,
        isProduction: pageMerchant.environment === 'production',
        // A viewer may see neither page.
        keysPath: mayOpen ? pathIn(pageMerchant, 'keys') : undefined,
        secretsPath: mayOpen ? pathIn(pageMerchant, 'webhooks/secrets') : undefined,
        referenceUrl: `${baseUrl}/docs`,
      },
    });
  });
}

/** A payment that one of the wallets takes, a direct one if possible. Otherwise its option is ''. */
function examplePayment(wallets: readonly MerchantWallet[], directory: WalletDirectory) {
  const isDirect = (option: string): boolean => isPaymentOption(option) && channelOf(option) === 'ussd';
  const usable = wallets.filter(({ paymentOptions }) => paymentOptions.length > 0);
  const chosen = usable.find(({ paymentOptions }) => paymentOptions.some(isDirect)) ?? usable[0];
  const taken = directory.wallets.find(({ wallet }) => wallet === chosen?.wallet)?.currencies[0];
  return {
    option: chosen?.paymentOptions.find(isDirect) ?? '',
    currency: taken?.currency ?? 'ETB',
    amount: taken?.decimals === 0 ? '100' : '100.50',
  };
}
