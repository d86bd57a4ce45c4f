import {
  MerchantWalletService,
  WalletAccountCheck,
} from '../../src/gen/gatehouse/v1/merchant_wallet_service_pb.js';
import { Environment } from '../../src/gen/gatehouse/v1/order_pb.js';
import { callSandbox } from '../support/sandbox-calls.ts';
import type { SandboxAnswer } from '../support/sandbox-calls.ts';
import type { Stack, TestMerchant } from '../support/stack.ts';
import { waitUntil } from '../support/wait-until.ts';

/** Adds an own account of a merchant, and waits for the check of its credentials. */
export async function addAccount(
  stack: Stack,
  { id: merchantId }: Pick<TestMerchant, 'id'>,
  wallet: string,
  values: Readonly<Record<string, string>>,
) {
  const owners = stack.client(MerchantWalletService, 'dashboard');
  const environment = Environment.SANDBOX;
  const { account } = await owners.addWalletAccount({ merchantId, environment, wallet, values });
  return waitUntil('the account is checked', async () => {
    const { wallets } = await owners.listMerchantWallets({ merchantId, environment });
    const now = wallets
      .flatMap(({ accounts }) => accounts)
      .find(({ walletAccountId }) => walletAccountId === account?.walletAccountId);
    return now?.check === WalletAccountCheck.WAITING ? undefined : now;
  });
}

/**
 * A merchant whose payments at a wallet use its own account with these values, after the provider has accepted them. Its key for
 * the sandbox may refund.
 */
export async function createMerchantWithAccount(
  stack: Stack,
  wallet: string,
  values: Readonly<Record<string, string>>,
): Promise<TestMerchant> {
  const owners = stack.client(MerchantWalletService, 'dashboard');
  const merchant = await stack.createMerchant({ mayRefund: true });
  const { id: merchantId } = merchant;
  const { walletAccountId, check, checkDetail } = await addAccount(stack, merchant, wallet, values);
  if (check !== WalletAccountCheck.ACCEPTED || checkDetail !== '') {
    throw new Error(`the check says ${WalletAccountCheck[check]}: ${checkDetail}`);
  }
  await owners.promoteWalletAccount({ merchantId, walletAccountId });
  return merchant;
}

/** Refunds an order, or `amount` of it, and waits for the end of the refund. Returns its status, or the refusal. */
export async function refundAs(
  stack: Stack,
  merchant: TestMerchant,
  orderNumber: string,
  amount?: string,
): Promise<string | SandboxAnswer['issues']> {
  const refund = {
    order_number: orderNumber,
    refund_number: `${orderNumber}-${amount ?? 'all'}`,
    reason: 'The goods came back',
    ...(amount === undefined ? {} : { amount }),
  };
  const created = await callSandbox(stack, merchant, 'refund', refund);
  if (created.status !== 201) return created.issues;
  return waitUntil('the refund has ended', async () => {
    const { refund_number } = refund;
    const status = (await callSandbox(stack, merchant, 'refund/verify', { refund_number })).data['status'];
    return status === 'PENDING' ? undefined : status;
  });
}

/** The payer's charges and returns, by the wallet's ledger. */
export async function ledgerOf(simulatorUrl: string, payer: string): Promise<readonly string[]> {
  const response = await fetch(`${simulatorUrl}/simulator/charges?payer=${encodeURIComponent(payer)}`);
  const { charges } = (await response.json()) as { charges: { amount: string; reversed: string }[] };
  return charges.map(({ amount, reversed }) => `${amount}, returned ${reversed}`);
}
