import { create } from '@bufbuild/protobuf';
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
const reading = { payee: 'accountid 3001', state: RecoveredStatementState.READING };
const failing = { payee: 'accountid 3002', state: RecoveredStatementState.FAILING, detail: 'a time-out' };
const removed = { payee: 'accountid 3003', state: RecoveredStatementState.REMOVED };
const operators = { payee: '', state: RecoveredStatementState.FAILING, detail: 'no route' };
const added = 'merchants may have added accounts that the backup lacks';

const { COMPLETE, PARTIAL } = RecoveryStream;
const { NO_STATEMENT, OWN_ACCOUNTS, UNSPECIFIED } = RecoveredWalletProblem;

test.each([
  ['is read', COMPLETE, UNSPECIFIED, [reading], ['Gatehouse reads its statements'], [accept]],
  [
    'has failing statements',
    COMPLETE,
    UNSPECIFIED,
    [operators, reading, failing],
    [
      'your statement cannot be read',
      'no route',
      'account accountid 3002 cannot be read',
      'a time-out',
      accept,
    ],
    [added, '3001'],
  ],
  ['lost an account', COMPLETE, OWN_ACCOUNTS, [removed], ['accountid 3003 cannot be read', accept], [added]],
  ['may lack accounts', PARTIAL, OWN_ACCOUNTS, [], [added, accept], ['cannot be read']],
  ['has no statement', PARTIAL, NO_STATEMENT, [], ['offers no statement', accept], [added]],
])(
  'the status of a wallet that %s shows what its recovery waits for',
  (_, stream, problem, unreadStatements, shown, hidden) => {
    const wallet = {
      environment: Environment.SANDBOX,
      wallet: 'walleta',
      state: RecoveredWalletState.WAITING,
    };
    const wallets = [{ ...wallet, problem, unreadStatements }];
    const { text } = showRecovery(create(RecoverySchema, { stream, wallets }));
    const status = typeof text === 'string' ? text : text(10_000);

    for (const part of shown) expect(status).toContain(part);
    for (const part of hidden) expect(status).not.toContain(part);
  },
);
