import { createClient } from '@connectrpc/connect';
import type { Transport } from '@connectrpc/connect';
import { pino } from 'pino';
import { MerchantWalletService } from '../../../src/gen/gatehouse/v1/merchant_wallet_service_pb.js';
import { Environment } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { PaymentAttemptService } from '../../../src/gen/gatehouse/v1/payment_attempt_service_pb.js';
import { RefundService } from '../../../src/gen/gatehouse/v1/refund_service_pb.js';
import { StrayPaymentService } from '../../../src/gen/gatehouse/v1/stray_payment_service_pb.js';
import { createAccountConnectors } from '../../../src/wallets/account-connectors.ts';
import type { AccountConnectors } from '../../../src/wallets/account-connectors.ts';
import { createCallbackTokens } from '../../../src/wallets/callback-token.ts';
import { SharedTokens } from '../../../src/wallets/connector/access-tokens.ts';
import type { WalletConnector } from '../../../src/wallets/connector/wallet-connector.ts';
import { connectorKinds } from '../../../src/wallets/connector-kinds.ts';
import { reversalWork } from '../../../src/wallets/wallet-work.ts';

const noAccounts = { use: () => Promise.reject(new Error('there are no own accounts')) };

/** The work on refunds and reversals of a GSMA wallet, at a core that the test imitates. */
export const reversalWorkAt = (
  core: Transport,
  connector: WalletConnector,
  accounts: Pick<AccountConnectors, 'use'> = noAccounts,
) =>
  reversalWork({
    ...{ wallet: 'walleta', environment: Environment.SANDBOX, paymentOptions: ['walleta_ussd'] },
    ...{ connector, accounts, logger: pino({ level: 'silent' }), maxInFlight: 2 },
    payments: createClient(PaymentAttemptService, core),
    strayPayments: createClient(StrayPaymentService, core),
    refunds: createClient(RefundService, core),
    tokens: createCallbackTokens(Buffer.alloc(32, 7), 'walleta-sandbox'),
    now: () => new Date(),
    newRequestId: () => 'request',
    stop: new AbortController().signal,
  });

/** The merchants' own accounts at that wallet, with these settings of the operator. */
export const accountsAt = (core: Transport, settings: Readonly<Record<string, unknown>> = {}) =>
  createAccountConnectors({
    client: createClient(MerchantWalletService, core),
    settings: {
      ...{
        wallet: 'walleta',
        environment: 'sandbox',
        kind: connectorKinds.find(({ name }) => name === 'gsma')!,
      },
      ...{ settings, options: ['walleta_ussd'], currencies: ['ETB'], callbackSources: [] },
      ...{
        callbackApiKey: undefined,
        payerStarted: undefined,
        maxInFlight: undefined,
        callTimeoutMs: undefined,
      },
    },
    options: {
      ...{ callbackBaseUrl: () => 'https://gatehouse.example', currencies: ['ETB'], maxConnections: 1 },
      ...{ timeouts: { connectMs: 5_000, callMs: 20_000 }, sharedTokens: new SharedTokens() },
      now: () => new Date(),
    },
    ...{ maxIdle: 1, idleMs: 60_000, monotonicMs: () => performance.now() },
  });
