import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { notRepeatable } from '../../../src/contract/grpc-transport.ts';

const contracts = join(import.meta.dirname, '../../../proto/gatehouse/v1');

/** Methods that only read. */
const reads = /^(BatchGet|Explain|Find|Get|List(?!en)|Read|Wait|Watch|Validate)|^(Diagnose|VerifyEvents)$/;

/** Methods that change something. Repeating one changes nothing that matters, and has the same answer. */
const repeatable = [
  // A new secret or link replaces the one in the lost answer.
  ...['BeginTotp', 'InviteUser', 'StartPasswordReset'],
  ...['DisableTotp', 'RequestAccountHelp', 'SetUserDisabled', 'UpdateProfile', 'VerifyPassword'],
  ...['DeleteSession', 'EndUserSessions', 'WriteSession'],
  // The mails of the lost answer are lost in either case.
  'TakeAccountMails',
  ...['AuthenticateApiKey', 'RevokeApiKey', 'SetApiKeyScopes'],
  ...['RecordApiRequests', 'RecordAuditEntry', 'ReportWalletStatus'],
  ...['ActivateProduction', 'RecordCertification', 'ResumeMerchant', 'SuspendMerchant'],
  ...['CheckWalletAccount', 'PromoteWalletAccount', 'RecordWalletAccountCheck', 'RetireWalletAccount'],
  'SwitchMerchantWallet',
  ...[
    'BatchRegisterOrders',
    'BatchStartDirectPayments',
    'CancelOrder',
    'RegisterOrder',
    'StartDirectPayment',
  ],
  ...['CancelCheckout', 'StreamOrderBatches', 'SubmitCheckoutPayment'],
  ...['ApproveRefund', 'CreateRefund', 'DeclineRefund'],
  ...['ConfirmSettlement', 'ProposeSettlement', 'WithdrawSettlement'],
  ...['HastenPayerPayment', 'HastenPaymentAttempt', 'HastenRefund', 'HastenReversal', 'ReportPayerPayment'],
  // If the answer is lost, the work is leased again when its lease expires.
  ...['LeasePayerPayments', 'LeasePaymentAttempts', 'LeaseReconciliation', 'LeaseRefunds', 'LeaseReversals'],
  'LeaseWalletAccountChecks',
  ...['RecordPayerPaymentOutcome', 'RecordPaymentOutcome', 'RecordRefundOutcome', 'RecordReversalOutcome'],
  // A repeat fails because the lease has ended. The worker logs that, and takes the next.
  'CompleteReconciliation',
  ...['BeginRecovery', 'ErasePersonalData', 'RecordStatementPage', 'StartReconciliation'],
  ...['PauseEndpoint', 'PauseWebhookEndpoint', 'ResumeEndpoint', 'ResumeWebhookEndpoint'],
  ...['ListenToSandboxEvents', 'UpdateWebhookEndpoint'],
  // A second copy of a webhook has the same id.
  'RedeliverDelivery',
];

test('it is decided for each method whether a call is repeated after a lost answer', async () => {
  const files = (await readdir(contracts)).filter((name) => name.endsWith('.proto'));
  const texts = await Promise.all(files.map((name) => readFile(join(contracts, name), 'utf8')));
  const methods = [...texts.join('\n').matchAll(/^ {2}rpc (\w+)/gm)].map(([, name = '']) => name);
  const decided = [...repeatable, ...notRepeatable.map(({ name }) => name)];
  const changes = methods.filter((name) => !reads.test(name));
  expect([...decided].sort()).toEqual([...changes].sort());
});
