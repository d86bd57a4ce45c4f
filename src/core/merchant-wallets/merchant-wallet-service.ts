import type { HandlerContext } from '@connectrpc/connect';
import { rpcError } from '../../contract/error-reason.ts';
import type { PublicId } from '../../contract/public-id.ts';
import { rpcService } from '../../contract/rpc-service.ts';
import type { Environment as EnvironmentNumber } from '../../gen/gatehouse/v1/order_pb.js';
import { MerchantWalletService } from '../../gen/gatehouse/v1/merchant_wallet_service_pb.js';
import { actorOf } from '../../platform/rpc/actor.ts';
import { annotate, markUneventful } from '../../platform/rpc/call-context.ts';
import { invalidFields } from '../../platform/rpc/rpc-error.ts';
import type { RpcService } from '../../platform/rpc/rpc-service.ts';
import { combine } from '../domain/combine.ts';
import type { Issue } from '../domain/issue.ts';
import { grantedOptions } from '../domain/merchant-terms.ts';
import type { AgreedTerms } from '../domain/merchant-terms.ts';
import type { Environment } from '../domain/order.ts';
import { err, ok } from '../domain/result.ts';
import type { Result } from '../domain/result.ts';
import type { Wallet } from '../domain/wallet.ts';
import type { AccountUse } from '../domain/wallet-account.ts';
import type { FindMerchant } from '../merchants/find-merchant.ts';
import { environmentNumbers, parseEnvironment } from '../rpc/environment.ts';
import { parseLeaseLimit } from '../rpc/lease-fields.ts';
import { parseId, parseOptionalId, valuesOrThrow } from '../rpc/request-fields.ts';
import { walletText } from '../rpc/wallet-text.ts';
import type { AccountForms } from './account-form.ts';
import { AccountUnreadableError } from './account-seal.ts';
import type { AccountStore } from './account-store.ts';
import type { AddRefusal } from './add-account.ts';
import type { AccountKey, WalletAccount } from './wallet-account.ts';
import { parseAccountValues } from './account-values.ts';
import { accountMessage, checkResultOf, fieldMessage } from './merchant-wallet-messages.ts';
import type { SwitchWallet } from './switch-wallet.ts';

export interface MerchantWalletServiceParts {
  readonly store: AccountStore;
  readonly switchWallet: SwitchWallet;
  /** Reads the database without a cache, so that a page shows its own change. */
  readonly findMerchant: FindMerchant;
  readonly wallets: readonly Wallet[];
  readonly forms: AccountForms;
  /** Counts a check of credentials before it becomes due. Above the limit, returns the wait in milliseconds; else undefined. */
  readonly countCheck: (merchantId: PublicId<'mer'>) => Promise<number | undefined>;
}

const maxDetail = 512;

/** gatehouse.v1.MerchantWalletService. */
export function merchantWalletService(parts: MerchantWalletServiceParts): RpcService {
  const { store, wallets, forms } = parts;
  const walletsIn = (environment: Environment): readonly Wallet[] =>
    wallets.filter(({ environments }) => environments.includes(environment));
  const termsOf = async (merchantId: PublicId<'mer'>): Promise<AgreedTerms> => {
    const terms = await parts.findMerchant(merchantId);
    if (terms === undefined) throw rpcError('MERCHANT_NOT_FOUND', `there is no merchant ${merchantId}`);
    return terms;
  };
  const describe =
    (terms: AgreedTerms, environment: Environment, accounts: readonly WalletAccount[]) =>
    (wallet: Wallet) => {
      const { id, options } = wallet;
      const granted = grantedOptions(terms, environment, wallets);
      return {
        wallet: id,
        paymentOptions: options.filter((option) => granted.includes(option)),
        on: !terms.walletsOff[environment].includes(id),
        accounts: accounts.filter((account) => account.wallet === id).map(accountMessage),
        accountFields: (forms.get(id)?.fields ?? []).map(fieldMessage),
      };
    };
  const parseWallet = (id: string, number: EnvironmentNumber): Result<Wallet, Issue> => {
    const environment = parseEnvironment(number);
    const known = environment.ok ? walletsIn(environment.value) : wallets;
    const wallet = known.find((each) => each.id === id);
    if (wallet !== undefined) return ok(wallet);
    const ids = known.map((each) => each.id).join(', ');
    const issue =
      ids === '' ? 'cannot be found: no wallet is set up for this environment' : `must be one of ${ids}`;
    return err({ field: 'wallet', issue });
  };
  const requireChecks = async (merchantId: PublicId<'mer'>): Promise<void> => {
    const retryAfterMs = await parts.countCheck(merchantId);
    if (retryAfterMs === undefined) return;
    throw rpcError('TOO_MANY_TRIES', 'too many checks of credentials; wait before the next one', {
      retryAfterMs,
    });
  };
  const parseScope = (request: { readonly merchantId: string; readonly environment: EnvironmentNumber }) => ({
    merchantId: parseId('mer', request.merchantId, 'merchant_id'),
    environment: parseEnvironment(request.environment),
  });
  const keyOf = (
    request: { readonly merchantId: string; readonly walletAccountId: string },
    context: HandlerContext,
  ): AccountKey => {
    const key = valuesOrThrow(
      combine({
        merchantId: parseId('mer', request.merchantId, 'merchant_id'),
        accountId: parseId('wac', request.walletAccountId, 'wallet_account_id'),
      }),
    );
    annotate(context, { merchant_id: key.merchantId, wallet_account_id: key.accountId });
    return key;
  };

  return rpcService(
    MerchantWalletService,
    {
      async listMerchantWallets(request) {
        const { merchantId, environment } = valuesOrThrow(combine(parseScope(request)));
        const terms = await termsOf(merchantId);
        const accounts = await store.list(merchantId, environment);
        return { wallets: walletsIn(environment).map(describe(terms, environment, accounts)) };
      },
      async switchMerchantWallet(request, context) {
        const { merchantId, environment, wallet } = valuesOrThrow(
          combine({
            ...parseScope(request),
            wallet: parseWallet(request.wallet, request.environment),
          }),
        );
        annotate(context, { merchant_id: merchantId, wallet: wallet.id, on: request.on });
        const change = { merchantId, environment, wallet: wallet.id, on: request.on };
        await parts.switchWallet(change, actorOf(context));
        const terms = await termsOf(merchantId);
        const accounts = await store.list(merchantId, environment);
        return { wallet: describe(terms, environment, accounts)(wallet) };
      },
      async addWalletAccount(request, context) {
        const { merchantId, environment, wallet, lostAccountId } = valuesOrThrow(
          combine({
            ...parseScope(request),
            wallet: parseWallet(request.wallet, request.environment),
            lostAccountId: parseOptionalId('wac', request.walletAccountId, 'wallet_account_id'),
          }),
        );
        const form = forms.get(wallet.id);
        if (form === undefined)
          throw invalidFields([
            { field: 'wallet', issue: 'does not support accounts of merchants; choose another wallet' },
          ]);
        const values = valuesOrThrow(parseAccountValues(request.values, form));
        await requireChecks(merchantId);
        const payee = form.payee(environment, values.openValues);
        const added = await store.add(
          { merchantId, environment, wallet: wallet.id, payee, lostAccountId, ...values },
          actorOf(context),
        );
        if (added.ok) return { account: accountMessage(added.value) };
        if (added.error === 'merchant_not_found')
          throw rpcError('MERCHANT_NOT_FOUND', `there is no merchant ${merchantId}`);
        if (added.error !== 'too_many') throw invalidFields([lostAccountIssue(added.error)]);
        throw rpcError(
          'TOO_MANY_WALLET_ACCOUNTS',
          'the merchant has too many accounts at this wallet; remove a retired account first',
        );
      },
      async checkWalletAccount(request, context) {
        const key = keyOf(request, context);
        await requireChecks(key.merchantId);
        const due = await store.check(key, actorOf(context));
        if (!due.ok) throw notFound(key);
        return { account: accountMessage(due.value) };
      },
      async promoteWalletAccount(request, context) {
        const key = keyOf(request, context);
        const promoted = await store.promote(key, actorOf(context));
        if (promoted.ok) return { account: accountMessage(promoted.value) };
        if (promoted.error === 'not_found') throw notFound(key);
        throw rpcError(
          'WALLET_ACCOUNT_NOT_CHECKED',
          'the provider has not accepted the credentials of this account; check it again, or add it with other values',
        );
      },
      async retireWalletAccount(request, context) {
        const key = keyOf(request, context);
        const retired = await store.retire(key, actorOf(context));
        if (retired.ok) return { account: accountMessage(retired.value) };
        if (retired.error === 'not_found') throw notFound(key);
        throw rpcError(
          'WALLET_ACCOUNT_NOT_CURRENT',
          'new payments do not use this account, so it cannot be retired; remove it if it is not needed',
        );
      },
      async removeWalletAccount(request, context) {
        const key = keyOf(request, context);
        const removed = await store.remove(key, actorOf(context));
        if (removed.ok) return {};
        if (removed.error === 'not_found') throw notFound(key);
        if (removed.error === 'is_current')
          throw rpcError(
            'WALLET_ACCOUNT_IN_USE',
            'new payments use the account; retire it or promote another first',
          );
        throw inUse(removed.error.openUse);
      },
      async leaseWalletAccountChecks(request, context) {
        const { environment, wallet, limit } = valuesOrThrow(
          combine({
            environment: parseEnvironment(request.environment),
            wallet: parseWallet(request.wallet, request.environment),
            limit: parseLeaseLimit(request.maxChecks, 'max_checks'),
          }),
        );
        const accounts = await store.leaseChecks(environment, wallet.id, limit);
        annotate(context, { items: accounts.length });
        if (accounts.length === 0) markUneventful(context);
        return { accounts: accounts.map(accountMessage) };
      },
      async recordWalletAccountCheck(request, context) {
        const key = keyOf(request, context);
        const result = checkResultOf(request.check);
        if (result === undefined)
          throw invalidFields([{ field: 'check', issue: 'must be ACCEPTED, REFUSED or UNKNOWN' }]);
        const detail = walletText(request.detail, maxDetail);
        if (!(await store.recordCheck(key, result, detail))) throw notFound(key);
        return {};
      },
      async getWalletAccountSettings(request, context) {
        const key = keyOf(request, context);
        const account = await store.settings(key).catch((error: unknown) => {
          if (!(error instanceof AccountUnreadableError)) throw error;
          throw rpcError('WALLET_ACCOUNT_UNREADABLE', error.message, { cause: error });
        });
        if (account === undefined) throw notFound(key);
        const { wallet, environment, values } = account;
        return { wallet, environment: environmentNumbers[environment], values: { ...values } };
      },
    },
    {
      listMerchantWallets: ['dashboard', 'operator'],
      switchMerchantWallet: ['dashboard', 'operator'],
      addWalletAccount: ['dashboard', 'operator'],
      checkWalletAccount: ['dashboard', 'operator'],
      promoteWalletAccount: ['dashboard', 'operator'],
      retireWalletAccount: ['dashboard', 'operator'],
      removeWalletAccount: ['dashboard', 'operator'],
      leaseWalletAccountChecks: ['wallets'],
      recordWalletAccountCheck: ['wallets'],
      getWalletAccountSettings: ['wallets'],
    },
  );
}

const lostAccountIssue = (refusal: Exclude<AddRefusal, 'merchant_not_found' | 'too_many'>) =>
  refusal === 'not_lost'
    ? {
        field: 'wallet_account_id',
        issue:
          'must be an account of this merchant and wallet that a restore lost and that was not added again; leave it out to add another account',
      }
    : {
        field: 'values',
        issue: `must have the payee account of the lost account: ${refusal.payee === '' ? "the operator's" : refusal.payee}`,
      };

const notFound = ({ accountId }: AccountKey) =>
  rpcError('WALLET_ACCOUNT_NOT_FOUND', `the merchant has no wallet account ${accountId}`);

function inUse({ openPayments, openReversals }: AccountUse) {
  const counts = [
    ...(openPayments === 0 ? [] : [`${openPayments} open ${openPayments === 1 ? 'payment' : 'payments'}`]),
    ...(openReversals === 0
      ? []
      : [`${openReversals} ${openReversals === 1 ? 'reversal' : 'reversals'} not completed`]),
  ];
  return rpcError(
    'WALLET_ACCOUNT_IN_USE',
    `the account is still needed by ${counts.join(' and ')}; try again when they have ended`,
    {
      metadata: { open_payments: String(openPayments), open_reversals: String(openReversals) },
    },
  );
}
