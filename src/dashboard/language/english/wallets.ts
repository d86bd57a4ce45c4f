import { counted } from '../../../contract/counted.ts';

/** The pages of a merchant's wallets. */
export const wallets = {
  title: 'Wallets',
  lead: 'Your customers can pay with the wallets that are on. A change applies to new payments within 5 seconds.',
  none: {
    title: 'No wallet is set up',
    body: 'The operator of this gateway has configured no wallet for this environment.',
  },
  allOff: {
    title: 'Nobody can pay you in this environment',
    body: 'No wallet is on. New orders are refused until you switch a wallet on.',
  },
  columns: {
    wallet: 'Wallet',
    takes: 'Takes',
    state: 'State',
    account: 'Receiving account',
    actions: 'Actions',
  },
  states: { on: 'On', off: 'Off', notGranted: 'Not available to you' },
  notGrantedHint: 'Ask the operator of this gateway to allow it.',
  range: {
    between: (least: string, greatest: string) => `${least} to ${greatest}`,
    from: (least: string) => `from ${least}`,
    upTo: (greatest: string) => `up to ${greatest}`,
  },
  wholeAmounts: 'whole amounts only',
  fewerDecimals: (maxDecimals: number) => `at most ${counted(maxDecimals, 'decimal')}`,
  accounts: {
    operators: 'The operator’s account',
    own: 'Your own account',
    open: 'Accounts',
  },
  switchOn: { submit: 'Switch on', done: (name: string) => `${name} is on.` },
  switchOff: {
    open: 'Switch off',
    body: 'New payments with this wallet are refused. Payments under way continue.',
    submit: 'Switch off',
    done: (name: string) => `${name} is off.`,
  },
  back: 'All wallets',
  own: {
    title: (name: string) => `Your accounts at ${name}`,
    lead: 'With an account of your own, the money of your customers goes directly to you. Without one, the operator’s account receives it.',
    unavailable: 'This wallet does not support accounts of merchants.',
    empty: 'You have no account of your own here. The operator’s account receives your payments.',
    columns: { account: 'Account', state: 'State', check: 'Credentials', added: 'Added', actions: 'Actions' },
    states: { next: 'Not used yet', current: 'Current', retired: 'Retired' },
    checks: {
      waiting: 'Being checked',
      accepted: 'Accepted',
      refused: 'Refused',
      unknown: 'The wallet gave no answer',
    },
    tooManyChecks: (wait: string) =>
      `Your credentials were checked 30 times in an hour, which is the limit. Wait ${wait} before you try again.`,
    hidden: '(secret)',
    ending: (ending: string) => `…${ending}`,
    check: {
      submit: 'Check again',
      done: 'The credentials are being checked. Refresh the page in a moment.',
    },
    promote: {
      open: 'Use for new payments',
      body: 'New payments go to this account from now on. Payments under way keep the account with which they began.',
      submit: 'Use this account',
      done: 'New payments go to this account.',
      notChecked:
        'The wallet has not accepted the credentials of this account. Check them again, or add the account with other values.',
    },
    retire: {
      open: 'Stop using',
      body: 'New payments go to the operator’s account from now on. Payments under way keep this account.',
      submit: 'Stop using this account',
      done: 'New payments go to the operator’s account.',
    },
    remove: {
      open: 'Remove',
      body: 'This deletes the account and its secrets. It cannot be undone. Later refunds of its payments are not possible here.',
      submit: 'Remove permanently',
      done: 'The account is removed.',
      inUse: (payments: number, reversals: number) =>
        payments + reversals === 0
          ? 'New payments use this account. Stop using it first.'
          : `This account is still needed by ${counted(payments, 'open payment')} and ${counted(reversals, 'reversal')}. Try again later.`,
    },
    add: {
      title: 'Add an account',
      body: 'Enter what the wallet issued to you. If you leave a field empty, the operator’s value applies. If the wallet has separate credentials for refunds, enter yours too: without them, payments to your account cannot be refunded. Gatehouse checks the credentials with the wallet before you can use the account.',
      secretHint: 'Secret. It is stored encrypted and never shown again.',
      asOperator: 'The operator’s value',
      nothing: 'Fill in at least one field of this form.',
      /** Help that replaces core's English help, by the name of the field. */
      fieldHelp: {} as Readonly<Record<string, string>>,
      submit: 'Add account',
      done: 'The account is added, and its credentials are being checked. Refresh the page in a moment.',
      again: 'Enter all values again. Secrets are not kept while you confirm your identity.',
      tooMany:
        'You already have 10 accounts at this wallet, which is the limit. Remove a retired account first.',
    },
  },
};
