import type { Client } from '@connectrpc/connect';
import type { Environment } from '../gen/gatehouse/v1/order_pb.js';
import { WalletAccountCheck } from '../gen/gatehouse/v1/merchant_wallet_service_pb.js';
import type { MerchantWalletService, WalletAccount } from '../gen/gatehouse/v1/merchant_wallet_service_pb.js';
import type { Logger } from '../platform/logger.ts';
import type { AccountConnectors } from './account-connectors.ts';
import { checkWallet } from './check-wallet.ts';
import type { LeasedWork } from './lease-worker.ts';
import { reportToCore, untilCoreAnswers } from './until-core-answers.ts';

export interface AccountCheckParts {
  /** The name in the log, such as "walleta-sandbox". */
  readonly name: string;
  /** The wallet's id. */
  readonly wallet: string;
  readonly environment: Environment;
  readonly accounts: Pick<AccountConnectors, 'openForCheck'>;
  readonly merchantWallets: Client<typeof MerchantWalletService>;
  readonly newRequestId: () => string;
  readonly logger: Logger;
  /** Aborts the calls to the wallet at shutdown. */
  readonly stop: AbortSignal;
}

/** The time limit of a check, shorter than core's lease of one minute. */
const checkMs = 25_000;

const results = {
  accepted: WalletAccountCheck.ACCEPTED,
  refused: WalletAccountCheck.REFUSED,
  unknown: WalletAccountCheck.UNKNOWN,
} as const;

/** The checks of merchants' own accounts at one wallet: their credentials are tried, without moving money. */
export function accountCheckWork(parts: AccountCheckParts): LeasedWork<WalletAccount> {
  const { name, wallet, environment, accounts, merchantWallets, logger, newRequestId, stop } = parts;

  const check = async (
    account: WalletAccount,
    facts: Readonly<Record<string, unknown>>,
  ): Promise<{ result: WalletAccountCheck; detail: string }> => {
    const signal = AbortSignal.any([stop, AbortSignal.timeout(checkMs)]);
    const opened = await untilCoreAnswers(() => accounts.openForCheck(account), {
      giveUp: signal,
      onFailure: (error) =>
        logger.warn({ ...facts, err: error }, 'core did not give the settings of an account; trying again'),
    });
    if ('unusable' in opened) return { result: WalletAccountCheck.REFUSED, detail: opened.unusable };
    try {
      const { credentials, detail } = await checkWallet(opened.connector, signal);
      return { result: results[credentials], detail: opened.mask(detail) };
    } finally {
      await opened.connector.close();
    }
  };

  return {
    name: `${name} account checks`,
    async lease(maxChecks) {
      const { accounts: due } = await merchantWallets.leaseWalletAccountChecks({
        environment,
        wallet,
        maxChecks,
      });
      return { items: due };
    },
    idsOf: ({ merchantId, walletAccountId }) => ({
      merchant_id: merchantId,
      wallet_account_id: walletAccountId,
    }),
    async serve(account) {
      const requestId = newRequestId();
      const { merchantId, walletAccountId } = account;
      const facts = {
        request_id: requestId,
        wallet: name,
        merchant_id: merchantId,
        wallet_account_id: walletAccountId,
      };
      const { result, detail } = await check(account, facts);
      // The process stops. Another one checks the account when the lease has expired.
      if (stop.aborted) return undefined;
      await reportToCore(
        () =>
          merchantWallets.recordWalletAccountCheck(
            { merchantId, walletAccountId, check: result, detail },
            { headers: { 'x-request-id': requestId } },
          ),
        parts,
        facts,
      );
      logger.info({ ...facts, result: WalletAccountCheck[result] }, 'wallet account checked');
      return undefined;
    },
  };
}
