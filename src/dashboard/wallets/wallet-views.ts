import { amountText, usualDecimals } from '../../contract/amount-text.ts';
import type { WalletDirectory } from '../../contract/wallet-directory.ts';
import { WalletAccountCheck, WalletAccountState } from '../../gen/gatehouse/v1/merchant_wallet_service_pb.js';
import type { MerchantWallet, WalletAccount } from '../../gen/gatehouse/v1/merchant_wallet_service_pb.js';
import type { WalletCurrency } from '../../gen/gatehouse/v1/wallet_service_pb.js';
import type { Language } from '../../platform/language/language.ts';
import type { wallets as english } from '../language/english/wallets.ts';
import { momentOf } from '../moment-text.ts';

type Words = typeof english;

/** The language of a page, and the names of its wallets. */
export interface WalletWriting {
  readonly words: Words;
  readonly language: Language;
  readonly timeZone: string;
  readonly directory: WalletDirectory;
}

/** A row of the list of wallets. */
export function walletRow(wallet: MerchantWallet, writing: WalletWriting) {
  const { words, directory, language } = writing;
  const isGranted = wallet.paymentOptions.length > 0;
  const current = wallet.accounts.find(({ state }) => state === WalletAccountState.CURRENT);
  const state = !isGranted ? 'notGranted' : wallet.on ? 'on' : 'off';
  return {
    id: wallet.wallet,
    name: directory.walletNames(wallet.wallet)[language],
    logo: directory.logoFile(wallet.wallet),
    takes: (directory.wallets.find((each) => each.wallet === wallet.wallet)?.currencies ?? []).map(
      (currency) => ({
        range: rangeText(currency, words, language),
        decimals: decimalsText(currency, words),
      }),
    ),
    isGranted,
    isOn: wallet.on,
    state: {
      text: words.states[state],
      tone: { on: 'good', off: 'warn', notGranted: undefined }[state],
      hint: isGranted ? '' : words.notGrantedHint,
    },
    account: current === undefined ? words.accounts.operators : words.accounts.own,
    takesAccounts: wallet.accountFields.length > 0,
  };
}

/** The decimals that a wallet takes, in words; undefined if it takes those of the currency. */
function decimalsText({ currency, decimals }: WalletCurrency, words: Words): string | undefined {
  if (decimals >= usualDecimals(currency)) return undefined;
  return decimals === 0 ? words.wholeAmounts : words.fewerDecimals(decimals);
}

/** The amounts that a wallet takes. */
export function rangeText(
  { currency, leastAmount: least, greatestAmount: greatest }: WalletCurrency,
  { range }: Pick<Words, 'range'>,
  language: Language,
): string {
  const write = (amount: string): string => amountText(amount, currency, language);
  if (least !== '' && greatest !== '') return range.between(write(least), write(greatest));
  if (least !== '') return range.from(write(least));
  return greatest === '' ? currency : range.upTo(write(greatest));
}

const states = {
  [WalletAccountState.UNSPECIFIED]: 'retired',
  [WalletAccountState.NEXT]: 'next',
  [WalletAccountState.CURRENT]: 'current',
  [WalletAccountState.RETIRED]: 'retired',
} as const;
const checks = {
  [WalletAccountCheck.UNSPECIFIED]: 'unknown',
  [WalletAccountCheck.WAITING]: 'waiting',
  [WalletAccountCheck.ACCEPTED]: 'accepted',
  [WalletAccountCheck.REFUSED]: 'refused',
  [WalletAccountCheck.UNKNOWN]: 'unknown',
} as const;
const stateTones = { next: 'info', current: 'good', retired: undefined } as const;
const checkTones = { waiting: 'info', accepted: 'good', refused: 'bad', unknown: 'warn' } as const;

/** A row of the list of a merchant's accounts at one wallet. */
export function accountRow(account: WalletAccount, { words: { own }, language, timeZone }: WalletWriting) {
  const state = states[account.state];
  const check = checks[account.check];
  return {
    id: account.walletAccountId,
    values: account.values.map(({ name, value, ending }) => ({
      name,
      text: value !== '' ? value : ending === '' ? own.hidden : own.ending(ending),
    })),
    state: { name: state, text: own.states[state], tone: stateTones[state] },
    check: { text: own.checks[check], tone: checkTones[check], detail: account.checkDetail },
    added: momentOf(account.createTime, language, timeZone),
    mayPromote: state !== 'current' && check === 'accepted',
    mayRetire: state === 'current',
    mayRemove: state !== 'current',
  };
}
