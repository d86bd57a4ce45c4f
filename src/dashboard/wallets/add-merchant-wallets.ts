import { Type } from '@sinclair/typebox';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { pathIn, pageMerchantOf, scopeOf } from '../access/page-context.ts';
import { callOptions, loadPanel } from '../try-call.ts';
import type { Dashboard } from '../dashboard.ts';
import { readForm } from '../forms/read-form.ts';
import { wallets as amharic } from '../language/amharic/wallets.ts';
import { wallets as english } from '../language/english/wallets.ts';
import { wordsFor } from '../language/words.ts';
import { PageProblem } from '../page-problem.ts';
import { shellWords } from '../send-page.ts';
import { flash } from '../session/sign-in-state.ts';
import { walletRow } from './wallet-views.ts';
import type { WalletWriting } from './wallet-views.ts';

const dictionary = { en: english, am: amharic };

const Switch = Type.Object({ on: Type.Union([Type.Literal('yes'), Type.Literal('no')]) });

export const walletWritingFor = (request: FastifyRequest, timeZone: string): WalletWriting => ({
  words: wordsFor(request, dictionary),
  language: request.language,
  timeZone,
  directory: request.wallets,
});

/** The page on which a merchant's owner chooses the wallets that its customers can pay with, and the wallets' logos. */
export function addMerchantWallets(app: FastifyInstance, { clients, sendPage, timeZone }: Dashboard): void {
  const path = '/m/:merchantId/:environment/wallets';

  app.get(path, async (request: FastifyRequest, reply: FastifyReply) => {
    const writing = walletWritingFor(request, timeZone);
    const pageMerchant = pageMerchantOf(request);
    const rows = await loadPanel(request, async (options) => {
      const { wallets } = await clients.merchantWallets.listMerchantWallets(scopeOf(request), options);
      return wallets.map((wallet) => walletRow(wallet, writing));
    });
    return sendPage(request, reply, {
      template: 'wallets/list',
      title: writing.words.title,
      area: 'wallets',
      words: writing.words,
      view: {
        path: pathIn(pageMerchant, 'wallets'),
        rows,
        isAllOff: rows.isThere && !rows.value.some(({ isGranted, isOn }) => isGranted && isOn),
        mayChange: pageMerchant.role === 'owner',
        maySeeAccounts: pageMerchant.role !== 'viewer',
      },
    });
  });

  app.post<{ Params: { wallet: string } }>(`${path}/:wallet/switch`, async (request, reply) => {
    const { wallet } = request.params;
    const form = readForm(Switch, request.body, shellWords[request.language].forms);
    // Any other value would switch off a wallet that customers pay with.
    if (!form.ok) throw new PageProblem('badRequest', 'NEITHER_ON_NOR_OFF');
    const on = form.value.on === 'yes';
    const { words, directory, language } = walletWritingFor(request, timeZone);
    await clients.merchantWallets.switchMerchantWallet(
      { ...scopeOf(request), wallet, on },
      callOptions(request),
    );
    const name = directory.walletNames(wallet)[language];
    flash(request, { tone: 'good', text: on ? words.switchOn.done(name) : words.switchOff.done(name) });
    return reply.redirect(pathIn(pageMerchantOf(request), 'wallets'), 303);
  });

  app.get<{ Params: { file: string } }>('/wallet-logos/:file', async (request, reply) => {
    const { wallets, logoFile } = request.wallets;
    const wallet = wallets.find((each) => logoFile(each.wallet) === request.params.file);
    if (wallet === undefined) throw new PageProblem('notFound', 'NO_LOGO');
    // The name contains a hash of the content. The policy forbids what a logo opened by itself could load or run.
    return reply
      .header('cache-control', 'private, max-age=31536000, immutable')
      .header('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'; sandbox")
      .type(wallet.logoMediaType)
      .send(wallet.logo);
  });
}
