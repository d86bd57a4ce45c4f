import { create } from '@bufbuild/protobuf';
import { Environment } from '../../src/gen/gatehouse/v1/order_pb.js';
import { WalletSchema } from '../../src/gen/gatehouse/v1/wallet_service_pb.js';
import { directoryOf } from '../../src/contract/wallet-directory.ts';

const common = {
  connector: 'gsma',
  currencies: [{ currency: 'ETB', decimals: 2 }],
  environments: [Environment.SANDBOX, Environment.PRODUCTION],
};

/** The demo wallets as core lists them. */
export const demoWalletMessages = [
  create(WalletSchema, {
    ...common,
    wallet: 'walleta',
    englishName: 'Wallet A',
    amharicName: 'ዋሌት ኤ',
    paymentOptions: ['walleta_wallet', 'walleta_ussd'],
  }),
  create(WalletSchema, {
    ...common,
    wallet: 'walletb',
    englishName: 'Wallet B',
    amharicName: 'ዋሌት ቢ',
    paymentOptions: ['walletb_ussd'],
  }),
];

export const demoDirectory = directoryOf(demoWalletMessages);
