import { create } from '@bufbuild/protobuf';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { expect, test } from '@jest/globals';
import { showRecovery } from '../../../src/cli/recovery-commands.ts';
import { Environment } from '../../../src/gen/gatehouse/v1/order_pb.js';
import {
  RecoveredStatementState,
  RecoveredWalletProblem,
  RecoveredWalletState,
  RecoverySchema,
  RecoveryStream,
} from '../../../src/gen/gatehouse/v1/recovery_service_pb.js';

const accept = 'gatehouse restore accept --wallet walleta --environment sandbox';
const nextReadTime = timestampFromDate(new Date('2026-03-10T10:09:00Z'));
const reading = { payee: 'accountid 3001', state: RecoveredStatementState.READING, nextReadTime };
const failing = {
  payee: 'accountid 3002',
  state: RecoveredStatementState.FAILING,
  detail: 'a time-out',
  nextReadTime,
};
const removed = { payee: 'accountid 3003', state: RecoveredStatementState.REMOVED };
const operators = { payee: '', state: RecoveredStatementState.FAILING, detail: 'no route' };
const added = 'merchants may have added accounts that the backup lacks';
const answer = 'gatehouse restore accept --accounts';

const backupTime = timestampFromDate(new Date('2026-03-10T10:00:00Z'));
const isAsked = { accountsLostFromTime: backupTime };
const createAgain = `gatehouse merchant create --merchant`;
const answerMerchants = 'gatehouse restore accept --merchants';

/** The text of a recovery with these values. */
function statusOf(recovery: MessageInitShape<typeof RecoverySchema>): string {
  const { text } = showRecovery(create(RecoverySchema, recovery));
  return (typeof text === 'string' ? text : text(10_000)).replace(/\s+/g, ' ');
}
const sandboxWallet = (state: keyof typeof RecoveredWalletState, own: object) => ({
  ...{ environment: Environment.SANDBOX, wallet: 'walleta', state: RecoveredWalletState[state] },
  ...own,
});

const { COMPLETE, LOST, PARTIAL, WAITING } = RecoveryStream;
const { NO_STATEMENT, OWN_ACCOUNTS, UNSPECIFIED } = RecoveredWalletProblem;

test.each([
  [
    'is read',
    COMPLETE,
    UNSPECIFIED,
    [reading],
    ['Gatehouse reads its statements at 2026-03-10T10:09:00Z. To see why', 'reconcile list'],
    [accept],
  ],
  [
    'is not read yet',
    COMPLETE,
    UNSPECIFIED,
    [],
    ['reads its statements at 2026-03-10T10:04:00Z, when the last prompts'],
    ['reconcile list'],
  ],
  [
    'waits for the events',
    WAITING,
    UNSPECIFIED,
    [],
    ['after the events of the broker, and not before 2026-03-10T10:04:00Z'],
    ['reconcile list'],
  ],
  [
    'has failing statements',
    COMPLETE,
    UNSPECIFIED,
    [operators, reading, failing],
    [
      'your statement cannot be read',
      'no route',
      `account ${failing.payee} cannot be read`,
      'tries again at 2026-03-10T10:09:00Z: a time-out',
      accept,
    ],
    [added, '3001'],
  ],
  ['may lack accounts', PARTIAL, OWN_ACCOUNTS, [], [added, answer, accept], ['cannot be read']],
  ['has no statement', PARTIAL, NO_STATEMENT, [], ['offers no statement', accept], [added]],
])(
  'the status of a wallet that %s shows what its recovery waits for',
  (_, stream, problem, unreadStatements, shown, hidden) => {
    const wallets = [sandboxWallet('WAITING', { problem, unreadStatements })];
    const asked = stream === PARTIAL ? isAsked : {};
    const statementsFromTime = timestampFromDate(new Date('2026-03-10T10:04:00Z'));
    const status = statusOf({ stream, wallets, statementsFromTime, ...asked });

    for (const part of shown) expect(status).toContain(part);
    for (const part of hidden) expect(status).not.toContain(part);
  },
);

const lost = {
  merchantId: 'mer_01m7xjbb99evv8hx2dqm5r8qgn',
  walletAccountId: 'wac_01m7xjbb99evv8hx2dqm5r8qgn',
};
const addAgain = `gatehouse merchant wallet add-account ${lost.merchantId} walleta --environment sandbox --account ${lost.walletAccountId}`;

test.each([
  ['a payee', { ...lost, payee: 'accountid 3001' }, ', accountid 3001;'],
  ["the operator's payee", { ...lost, payee: '' }, ", the operator's account;"],
  ['an unknown payee', lost, `${lost.merchantId};`],
])('a missing account with %s is named with the command that adds it again', (_, account, name) => {
  const wallet = sandboxWallet('WAITING', { problem: OWN_ACCOUNTS, missingAccounts: [account] });
  const status = statusOf({ stream: COMPLETE, wallets: [wallet] });

  for (const part of [lost.walletAccountId, name, addAgain, accept]) expect(status).toContain(part);
  for (const part of [added, 'Gatehouse reads its statements']) expect(status).not.toContain(part);
});

test.each([
  ['asks an operator', '', ['not known', answer]],
  ['names the operator who has answered', 'operator', ['added again: operator']],
])('a recovery without all events %s about accounts of the lost time', (_, accountsAcceptedBy, parts) => {
  const asked = accountsAcceptedBy === '' ? isAsked : {};
  const status = statusOf({ stream: LOST, accountsAcceptedBy, ...asked });

  for (const part of parts) expect(status).toContain(part);
  expect(status.includes(answer)).toBe(accountsAcceptedBy === '');
});

test('a recovery with all events asks for no accounts', () => {
  expect(statusOf({ stream: COMPLETE })).not.toContain('not known');
});

test('the text of a recovery fits a terminal of 80 columns, except for commands', () => {
  const recovery = create(RecoverySchema, { stream: LOST, ...isAsked, merchantsLostFromTime: backupTime });
  const { text } = showRecovery(recovery);
  const lines = (typeof text === 'string' ? text : text(80)).split('\n');

  expect(lines.filter((line) => line.length > 80 && !/^\s*gatehouse /.test(line))).toEqual([]);
});

test('a recovery that reads the events of the broker does not blame the broker', () => {
  expect(statusOf({ stream: WAITING })).toContain('not read to the end yet; if this lasts for minutes,');
});

test('a recovery writes one order, one event and one payment in the singular', () => {
  const status = statusOf({
    ...{ stream: COMPLETE, rebuiltOrderCount: 1, rebuiltEventCount: 1, conflictingOrderCount: 1 },
    missingMerchants: [{ merchantId: 'mer_01m7xjbb99evv8hx2dqm5r8qgn', orderCount: 1 }],
    wallets: [sandboxWallet('READ', { unclaimedPaymentCount: 1 })],
  });

  for (const part of [
    '1 order, 1 event',
    '1 order; list',
    '1 rebuilt order;',
    '1 payment of a lost order waits',
  ])
    expect(status).toContain(part);
});

const shop = { merchantId: 'mer_01m7xjbb99evv8hx2dqm5r8qgn', orderCount: 3 };
const areLost = { merchantsLostFromTime: backupTime };

test.each([
  [
    'a merchant that the events name',
    { stream: COMPLETE, missingMerchants: [shop], ...areLost },
    ['3 rebuilt orders', `${createAgain} ${shop.merchantId}`, answerMerchants],
    ['not known'],
  ],
  [
    'merchants that nothing names',
    { stream: LOST, ...areLost },
    ['not known', `${createAgain} <merchant_id>`, answerMerchants],
    [],
  ],
  ['merchants at first', { stream: WAITING, ...areLost }, ['not known yet'], [answerMerchants]],
  ['an answer', { stream: LOST, merchantsAcceptedBy: 'operator' }, ['for them: operator'], ['not known']],
])('a recovery shows %s of the lost time', (_, recovery, shown, hidden) => {
  const status = statusOf(recovery);

  for (const part of shown) expect(status).toContain(part);
  for (const part of hidden) expect(status).not.toContain(part);
});

test.each([
  [
    'is read',
    { unreadStatements: [reading] },
    `reads the statement of the merchants' account ${reading.payee}`,
  ],
  ['cannot be read', { unreadStatements: [failing] }, 'account accountid 3002 cannot be read'],
  ['lost its account', { unreadStatements: [removed] }, 'account accountid 3003 cannot be read'],
  ['is of a missing account', { missingAccounts: [lost] }, addAgain],
])('a wallet that is open shows what merchants wait for: a statement that %s', (_, waiting, shown) => {
  const heldMerchants = [{ environment: Environment.SANDBOX, merchantId: lost.merchantId }];
  const status = statusOf({ stream: COMPLETE, wallets: [sandboxWallet('READ', waiting)], heldMerchants });

  for (const part of [shown, accept, `${lost.merchantId} takes no payments in SANDBOX`])
    expect(status).toContain(part);
});

test('orders that cannot be rebuilt are to be accepted when the events were read', () => {
  const of = (stream: RecoveryStream) => statusOf({ stream, conflictingOrderCount: 1 });

  expect(of(WAITING)).toContain('1 order so far');
  expect(of(WAITING)).not.toContain('--conflicts');
  expect(of(LOST)).toContain('gatehouse restore accept --conflicts');
});

test('each command of a recovery is whole, on a line of its own', () => {
  const missingAccounts = [lost];
  const wallets = [sandboxWallet('WAITING', { problem: OWN_ACCOUNTS, missingAccounts })];
  const asked = { ...areLost, ...isAsked, erasuresLostFromTime: backupTime, conflictingOrderCount: 1 };
  const { text } = showRecovery(create(RecoverySchema, { stream: LOST, wallets, ...asked }));

  const lines = (typeof text === 'string' ? text : text(100)).split('\n').map((line) => line.trim());
  const commands = lines.filter((line) => line.includes('gatehouse '));
  expect(commands).toHaveLength(10);
  for (const command of commands) expect(command).toMatch(/^gatehouse .*(?:>|--conflicts)$/);
});
