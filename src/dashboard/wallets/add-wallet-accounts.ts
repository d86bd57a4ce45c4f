import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { MerchantWallet } from '../../gen/gatehouse/v1/merchant_wallet_service_pb.js';
import { waitText } from '../../platform/language/duration-text.ts';
import { pathIn, pageMerchantOf, scopeOf } from '../access/page-context.ts';
import { tryCall, callOptions } from '../try-call.ts';
import type { Answer } from '../try-call.ts';
import type { Dashboard } from '../dashboard.ts';
import { fieldOf, fieldsOf } from '../forms/read-form.ts';
import { PageProblem } from '../page-problem.ts';
import type { RpcFailure } from '../rpc-failure.ts';
import { shellWords } from '../send-page.ts';
import { flash } from '../session/sign-in-state.ts';
import { walletWritingFor } from './add-merchant-wallets.ts';
import { accountRow } from './wallet-views.ts';
import type { WalletWriting } from './wallet-views.ts';

/** "secret" in the names keeps the values out of sessions and of pages. */
const prefixes = { secret: 'secret.', open: 'value.' } as const;
/** Present in a whole form. A form that was kept while the user confirmed the identity lacks it, with all secrets. */
const wholeFormField = 'secret-complete';

interface Shown {
  readonly values?: Readonly<Record<string, string>>;
  readonly errors?: Readonly<Record<string, string>>;
  /** Whether the form had no value at all. */
  readonly isEmpty?: boolean;
  readonly problem?: string;
  readonly status?: number;
}

type WalletRequest = FastifyRequest<{ Params: { wallet: string } }>;
type AccountRequest = FastifyRequest<{ Params: { wallet: string; accountId: string } }>;

/** The page on which a merchant's owner manages its own accounts at a wallet. */
export function addWalletAccounts(app: FastifyInstance, { clients, sendPage, timeZone }: Dashboard): void {
  const path = '/m/:merchantId/:environment/wallets/:wallet';
  const selfOf = (request: WalletRequest): string =>
    pathIn(pageMerchantOf(request), `wallets/${encodeURIComponent(request.params.wallet)}`);
  const walletOf = async (request: WalletRequest): Promise<MerchantWallet> => {
    const { wallets } = await clients.merchantWallets.listMerchantWallets(
      scopeOf(request),
      callOptions(request),
    );
    const wallet = wallets.find((each) => each.wallet === request.params.wallet);
    if (wallet === undefined) throw new PageProblem('notFound', 'NO_WALLET');
    return wallet;
  };

  const show = async (
    request: WalletRequest,
    reply: FastifyReply,
    { values = {}, errors = {}, isEmpty = false, problem, status = 200 }: Shown = {},
  ): Promise<FastifyReply> => {
    const writing = walletWritingFor(request, timeZone);
    const { own } = writing.words;
    const wallet = await walletOf(request);
    const pageMerchant = pageMerchantOf(request);
    const name = writing.directory.walletNames(wallet.wallet)[request.language];
    reply.code(status);
    return sendPage(request, reply, {
      template: 'wallets/accounts',
      title: own.title(name),
      area: 'wallets',
      words: writing.words,
      self: selfOf(request),
      view: {
        path: selfOf(request),
        back: pathIn(pageMerchant, 'wallets'),
        rows: wallet.accounts.map((account) => accountRow(account, writing)),
        fields: wallet.accountFields.map(({ name, secret, description, choices }, index) => ({
          name,
          input: `${secret ? prefixes.secret : prefixes.open}${name}`,
          isSecret: secret,
          // Core's help of a field that the dashboard does not know is in English.
          help: own.add.fieldHelp[name] ?? description,
          helpLanguage: own.add.fieldHelp[name] === undefined ? 'en' : request.language,
          choices,
          value: secret ? '' : (values[name] ?? ''),
          // Core's issues are in English.
          error:
            isEmpty && index === 0
              ? { text: own.add.nothing, language: request.language }
              : errors[name] && { text: errors[name], language: 'en' },
        })),
        wholeFormField,
        problem,
        mayChange: pageMerchant.role === 'owner',
      },
    });
  };

  app.get(path, (request: WalletRequest, reply) => show(request, reply));

  app.post(`${path}/accounts`, async (request: WalletRequest, reply) => {
    const { words } = walletWritingFor(request, timeZone);
    const values = valuesOf(request.body);
    if (fieldOf(request.body, wholeFormField) === '')
      return show(request, reply, { values, problem: words.own.add.again, status: 400 });
    if (Object.keys(values).length === 0) {
      const problem = shellWords[request.language].forms.correct;
      return show(request, reply, { isEmpty: true, problem, status: 400 });
    }
    const answer = await tryCall(request, (options) =>
      clients.merchantWallets.addWalletAccount(
        { ...scopeOf(request), wallet: request.params.wallet, values },
        options,
      ),
    );
    if (!answer.ok)
      return show(request, reply, {
        values,
        ...(tooManyChecks(request, reply, answer.refusal, words) ??
          refusedForm(request, answer.refusal, words)),
      });
    flash(request, { tone: 'good', text: words.own.add.done });
    return reply.redirect(selfOf(request), 303);
  });

  const addAction = (
    action: 'check' | 'promote' | 'retire' | 'remove',
    act: (
      key: { merchantId: string; walletAccountId: string },
      request: AccountRequest,
    ) => Promise<Answer<unknown>>,
    problemOf: (refusal: RpcFailure, words: WalletWriting['words']) => string | undefined,
  ): void => {
    app.post(`${path}/accounts/:accountId/${action}`, async (request: AccountRequest, reply) => {
      const { words } = walletWritingFor(request, timeZone);
      const { merchantId } = pageMerchantOf(request);
      const { accountId: walletAccountId } = request.params;
      // Core finds accounts by their ids alone. The account must belong to the path's environment and wallet.
      const { accounts } = await walletOf(request);
      if (!accounts.some((account) => account.walletAccountId === walletAccountId))
        throw new PageProblem('notFound', 'NO_WALLET_ACCOUNT');
      const answer = await act({ merchantId, walletAccountId }, request);
      if (!answer.ok) {
        const limited = tooManyChecks(request, reply, answer.refusal, words);
        if (limited !== undefined) return show(request, reply, limited);
        const problem = problemOf(answer.refusal, words);
        // Core's message is in English only, so any other refusal gets an error page in the user's language.
        if (problem === undefined) throw new PageProblem(answer.refusal.problem, answer.refusal.reason);
        return show(request, reply, { problem, status: 409 });
      }
      flash(request, { tone: 'good', text: words.own[action].done });
      return reply.redirect(selfOf(request), 303);
    });
  };
  const { merchantWallets } = clients;
  addAction(
    'check',
    (key, request) => tryCall(request, (options) => merchantWallets.checkWalletAccount(key, options)),
    () => undefined,
  );
  addAction(
    'promote',
    (key, request) => tryCall(request, (options) => merchantWallets.promoteWalletAccount(key, options)),
    ({ reason }, { own }) => (reason === 'WALLET_ACCOUNT_NOT_CHECKED' ? own.promote.notChecked : undefined),
  );
  addAction(
    'retire',
    (key, request) => tryCall(request, (options) => merchantWallets.retireWalletAccount(key, options)),
    () => undefined,
  );
  addAction(
    'remove',
    (key, request) => tryCall(request, (options) => merchantWallets.removeWalletAccount(key, options)),
    ({ reason, facts }, { own }) =>
      reason === 'WALLET_ACCOUNT_IN_USE'
        ? own.remove.inUse(Number(facts['open_payments'] ?? 0), Number(facts['open_reversals'] ?? 0))
        : undefined,
  );
}

/** The values of the form by the names of core's fields. */
const valuesOf = (body: unknown): Record<string, string> =>
  Object.fromEntries(
    fieldsOf(body).flatMap(([input, value]): [string, string][] => {
      const prefix = Object.values(prefixes).find((each) => input.startsWith(each));
      return prefix === undefined || value.trim() === '' ? [] : [[input.slice(prefix.length), value]];
    }),
  );

/** The message above the limit of checks; undefined for any other refusal. */
function tooManyChecks(
  request: FastifyRequest,
  reply: FastifyReply,
  { reason, retryAfterSeconds = 60 }: RpcFailure,
  { own }: WalletWriting['words'],
): Shown | undefined {
  if (reason !== 'TOO_MANY_TRIES') return undefined;
  reply.header('retry-after', retryAfterSeconds);
  return { problem: own.tooManyChecks(waitText(retryAfterSeconds, request.language)), status: 429 };
}

/** Core's issues at their fields. The sentences are in English. */
function refusedForm(
  request: FastifyRequest,
  { reason, fields, message }: RpcFailure,
  { own }: WalletWriting['words'],
): Shown {
  if (reason === 'TOO_MANY_WALLET_ACCOUNTS') return { problem: own.add.tooMany, status: 409 };
  const errors = Object.fromEntries(
    fields.map(({ field, issue }) => [field.replace(/^values\.?/, ''), issue] as const),
  );
  const { '': whole, ...byField } = errors;
  const problem = whole ?? (fields.length > 0 ? shellWords[request.language].forms.correct : message);
  return { errors: byField, problem, status: 400 };
}
