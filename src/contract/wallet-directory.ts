import { createHash } from 'node:crypto';
import type { Client } from '@connectrpc/connect';
import type { Wallet, WalletService } from '../gen/gatehouse/v1/wallet_service_pb.js';
import type { Language } from '../platform/language/language.ts';
import { channelOf, isPaymentOption, walletOf } from './payment-option.ts';
import type { Channel } from './payment-option.ts';

/** The name of a wallet by language. */
export type WalletNames = Readonly<Record<Language, string>>;

/** A payment option for people. */
export interface OptionNames {
  readonly wallet: WalletNames;
  readonly channel: Channel;
  /** Whether the wallet has another channel, so that the name must include the channel. */
  readonly hasSibling: boolean;
}

/** The configured wallets, as pages show them. */
export interface WalletDirectory {
  readonly wallets: readonly Wallet[];
  /** The names of a wallet. A wallet that is no longer configured has its id as name. */
  readonly walletNames: (id: string) => WalletNames;
  /** The names of an option; undefined for a text that is no option. */
  readonly option: (option: string) => OptionNames | undefined;
  /** The name of the logo's file, which changes with its content; undefined without a logo. */
  readonly logoFile: (id: string) => string | undefined;
}

/** How long the directory is used before it is read again. Core's answer changes only when core restarts. */
const freshMs = 60_000;

/**
 * Gives the directory. The first call reads it from core, and later calls read it again after a minute. While core does not
 * answer, the last one remains in use.
 * @throws ConnectError when core has never answered
 */
export function createWalletDirectory(
  client: Pick<Client<typeof WalletService>, 'listWallets'>,
  monotonicMs: () => number,
): () => Promise<WalletDirectory> {
  let known: { readonly directory: WalletDirectory; readonly atMs: number } | undefined;
  let reading: Promise<WalletDirectory> | undefined;
  const read = async (): Promise<WalletDirectory> => {
    try {
      const { wallets } = await client.listWallets({}, { timeoutMs: 5_000 });
      known = { directory: directoryOf(wallets), atMs: monotonicMs() };
      return known.directory;
    } finally {
      reading = undefined;
    }
  };
  return async () => {
    if (known !== undefined && monotonicMs() - known.atMs < freshMs) return known.directory;
    reading ??= read();
    if (known === undefined) return reading;
    const { directory } = known;
    return reading.catch(() => directory);
  };
}

/** The directory of these wallets. */
export function directoryOf(wallets: readonly Wallet[]): WalletDirectory {
  const byId = new Map(wallets.map((wallet) => [wallet.wallet, wallet]));
  const logoFiles = new Map(wallets.map((wallet) => [wallet.wallet, logoFileOf(wallet)]));
  const walletNames = (id: string): WalletNames => {
    const wallet = byId.get(id);
    return wallet === undefined ? { en: id, am: id } : { en: wallet.englishName, am: wallet.amharicName };
  };
  return {
    wallets,
    walletNames,
    option(option) {
      if (!isPaymentOption(option)) return undefined;
      const id = walletOf(option);
      const hasSibling = (byId.get(id)?.paymentOptions.length ?? 1) > 1;
      return { wallet: walletNames(id), channel: channelOf(option), hasSibling };
    },
    logoFile: (id) => logoFiles.get(id),
  };
}

function logoFileOf({ wallet, logo, logoMediaType }: Wallet): string | undefined {
  if (logo.length === 0) return undefined;
  const hash = createHash('sha256').update(logo).digest('hex').slice(0, 16);
  return `${wallet}.${hash}.${logoMediaType === 'image/png' ? 'png' : 'svg'}`;
}
