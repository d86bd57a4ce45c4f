import { Code } from '@connectrpc/connect';
import { describe, expect, test } from '@jest/globals';
import { OrderService } from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import { orderNamed, registration } from '../../support/order-requests.ts';
import { failureOf } from '../../support/rpc-failure.ts';
import { methodNamed, methodNamesOf, plainGrpcClient } from './rpc-clients.ts';
import { shared, sharedStack } from '../../support/shared-stack.ts';

// The rights of each role, written by hand, so that a change of rights must be made in two places.

const roleNames = [
  'facade',
  'checkout',
  'wallets',
  'webhooks',
  'dashboard',
  'operator',
  'writer',
  'reader',
] as const;
type RoleName = (typeof roleNames)[number];

/** One column a role, in the order of `roleNames`; Y may call, - may not. */
const matrix: Readonly<Record<string, string>> = {
  //                                                  facade, checkout, wallets, webhooks, dashboard, operator, writer, reader
  'gatehouse.v1.OrderService/RegisterOrder': /*             */ 'Y - - - Y Y Y -',
  'gatehouse.v1.OrderService/BatchRegisterOrders': /*       */ 'Y - - - - Y Y -',
  'gatehouse.v1.OrderService/StartDirectPayment': /*        */ 'Y - - - - Y Y -',
  'gatehouse.v1.OrderService/BatchStartDirectPayments': /*  */ 'Y - - - - Y Y -',
  'gatehouse.v1.OrderService/GetOrder': /*                  */ 'Y Y Y Y Y Y Y Y',
  'gatehouse.v1.OrderService/BatchGetOrders': /*            */ 'Y Y Y Y Y Y Y Y',
  'gatehouse.v1.OrderService/StreamOrderBatches': /*        */ 'Y - - - - Y Y -',
  'gatehouse.v1.OrderService/WaitOrder': /*                 */ 'Y Y Y Y Y Y Y Y',
  'gatehouse.v1.OrderService/WatchEndedOrders': /*          */ 'Y - - - - - - -',
  'gatehouse.v1.OrderService/CancelOrder': /*               */ '- - - - Y Y Y -',
  'gatehouse.v1.OrderService/ListOrders': /*                */ '- - - - Y Y Y Y',
  'gatehouse.v1.OrderService/FindOrders': /*                */ '- - - - Y Y - -',
  'gatehouse.v1.OrderService/ListOrderEvents': /*           */ '- - - Y Y Y Y Y',
  'gatehouse.v1.OrderService/WatchOrderEvents': /*          */ '- - - Y - Y Y Y',
  'gatehouse.v1.MerchantService/CreateMerchant': /*         */ '- - - - Y Y - -',
  'gatehouse.v1.MerchantService/GetMerchant': /*            */ '- Y - Y Y Y - Y',
  'gatehouse.v1.MerchantService/ListMerchants': /*          */ '- - - - Y Y - Y',
  'gatehouse.v1.MerchantService/SuspendMerchant': /*        */ '- - - - Y Y - -',
  'gatehouse.v1.MerchantService/ResumeMerchant': /*         */ '- - - - Y Y - -',
  'gatehouse.v1.MerchantService/ActivateProduction': /*     */ '- - - - Y Y - -',
  'gatehouse.v1.MerchantService/UpdateMerchant': /*         */ '- - - - Y Y - -',
  'gatehouse.v1.MerchantService/RecordCertification': /*    */ '- - - - - Y - -',
  'gatehouse.v1.MerchantService/GetCertifications': /*      */ '- - - - Y Y - Y',
  'gatehouse.v1.ApiKeyService/AuthenticateApiKey': /*       */ 'Y - - - - - - -',
  'gatehouse.v1.ApiKeyService/IssueApiKey': /*              */ '- - - - Y Y - -',
  'gatehouse.v1.ApiKeyService/RotateApiKey': /*             */ '- - - - Y Y - -',
  'gatehouse.v1.ApiKeyService/RevokeApiKey': /*             */ '- - - - Y Y - -',
  'gatehouse.v1.ApiKeyService/SetApiKeyScopes': /*          */ '- - - - Y Y - -',
  'gatehouse.v1.ApiKeyService/ListApiKeys': /*              */ '- - - - Y Y - Y',
  'gatehouse.v1.AuditService/ListAuditEntries': /*          */ '- - - - Y Y - Y',
  'gatehouse.v1.AuditService/RecordAuditEntry': /*          */ '- - - Y - - - -',
  'gatehouse.v1.AuditService/VerifyEvents': /*              */ '- - - - - Y - Y',
  'gatehouse.v1.AuditService/GetAuditRoot': /*              */ '- - - - - Y - Y',
  'gatehouse.v1.PaymentAttemptService/LeasePaymentAttempts': '- - Y - - - - -',
  'gatehouse.v1.PaymentAttemptService/RecordPaymentOutcome': '- - Y - - - - -',
  'gatehouse.v1.PaymentAttemptService/HastenPaymentAttempt': '- - Y - Y Y - -',
  'gatehouse.v1.PaymentAttemptService/GetPaymentAttempt': /**/ '- - Y - Y Y - Y',
  'gatehouse.v1.PaymentAttemptService/ListPaymentAttempts': '- - - - Y Y - Y',
  'gatehouse.v1.StrayPaymentService/ListStrayPayments': /*  */ '- - - - Y Y - Y',
  'gatehouse.v1.StrayPaymentService/LeaseReversals': /*     */ '- - Y - - - - -',
  'gatehouse.v1.StrayPaymentService/RecordReversalOutcome': /**/ '- - Y - - - - -',
  'gatehouse.v1.StrayPaymentService/HastenReversal': /*     */ '- - Y - - - - -',
  'gatehouse.v1.StrayPaymentService/RetryReversal': /*      */ '- - - - Y Y - -',
  'gatehouse.v1.PayerPaymentService/ValidatePayerPayment': '- - Y - - - - -',
  'gatehouse.v1.PayerPaymentService/ReportPayerPayment': /**/ '- - Y - - - - -',
  'gatehouse.v1.PayerPaymentService/LeasePayerPayments': /**/ '- - Y - - - - -',
  'gatehouse.v1.PayerPaymentService/RecordPayerPaymentOutcome': '- - Y - - - - -',
  'gatehouse.v1.PayerPaymentService/HastenPayerPayment': /**/ '- - Y - Y Y - -',
  'gatehouse.v1.PayerPaymentService/GetPayerPayment': /*   */ '- - - - Y Y - Y',
  'gatehouse.v1.PayerPaymentService/ListPayerPayments': /* */ '- - - - Y Y - Y',
  'gatehouse.v1.RefundService/CreateRefund': /*             */ 'Y - - - Y Y Y -',
  'gatehouse.v1.RefundService/GetRefund': /*                */ 'Y - - - Y Y Y Y',
  'gatehouse.v1.RefundService/ListRefunds': /*              */ 'Y - - - Y Y Y Y',
  'gatehouse.v1.RefundService/GetRefundable': /*            */ 'Y - - - Y Y Y Y',
  'gatehouse.v1.RefundService/ApproveRefund': /*            */ '- - - - Y Y - -',
  'gatehouse.v1.RefundService/DeclineRefund': /*            */ '- - - - Y Y - -',
  'gatehouse.v1.RefundService/LeaseRefunds': /*             */ '- - Y - - - - -',
  'gatehouse.v1.RefundService/RecordRefundOutcome': /*      */ '- - Y - - - - -',
  'gatehouse.v1.RefundService/HastenRefund': /*             */ '- - Y - Y Y - -',
  'gatehouse.v1.RefundService/WatchRefunds': /*             */ '- - - - - Y Y Y',
  'gatehouse.v1.SettlementService/ListUnsettled': /*        */ '- - - - Y Y - Y',
  'gatehouse.v1.SettlementService/ProposeSettlement': /*    */ '- - - - Y Y - -',
  'gatehouse.v1.SettlementService/ConfirmSettlement': /*    */ '- - - - Y Y - -',
  'gatehouse.v1.SettlementService/WithdrawSettlement': /*   */ '- - - - Y Y - -',
  'gatehouse.v1.SettlementService/ListSettlements': /*      */ '- - - - Y Y - Y',
  'gatehouse.v1.OrderStoryService/GetOrderStory': /*        */ '- - - - Y Y - Y',
  'gatehouse.v1.OrderStoryService/ExplainOrder': /*         */ 'Y - - - Y Y Y Y',
  'gatehouse.v1.PersonalDataService/ErasePersonalData': /*  */ '- - - - Y Y - -',
  'gatehouse.v1.PersonalDataService/ListErasureRequests': /**/ '- - - - Y Y - Y',
  'gatehouse.v1.PersonalDataService/ListErasedOrders': /*   */ '- - - Y - Y - Y',
  'gatehouse.v1.ReconciliationService/StartReconciliation': '- - - - Y Y - -',
  'gatehouse.v1.ReconciliationService/LeaseReconciliation': '- - Y - - - - -',
  'gatehouse.v1.ReconciliationService/RecordStatementPage': '- - Y - - - - -',
  'gatehouse.v1.ReconciliationService/CompleteReconciliation': '- - Y - - - - -',
  'gatehouse.v1.ReconciliationService/GetReconciliation': '- - - - Y Y - Y',
  'gatehouse.v1.ReconciliationService/ListReconciliations': '- - - - Y Y - Y',
  'gatehouse.v1.ReconciliationService/ListDifferences': /*  */ '- - - - Y Y - Y',
  'gatehouse.v1.ReconciliationService/ListMoneyDays': /*    */ '- - - - Y Y - Y',
  'gatehouse.v1.CheckoutService/GetCheckout': /*            */ '- Y - - - - - -',
  'gatehouse.v1.CheckoutService/SubmitCheckoutPayment': /*  */ '- Y - - - - - -',
  'gatehouse.v1.CheckoutService/CancelCheckout': /*         */ '- Y - - - - - -',
  'gatehouse.v1.RequestLogService/RecordApiRequests': /*    */ 'Y - - - - - - -',
  'gatehouse.v1.RequestLogService/ListApiRequests': /*      */ '- - - - Y Y - Y',
  'gatehouse.v1.RequestLogService/GetApiRequest': /*        */ '- - - - Y Y - Y',
  'gatehouse.v1.AccountService/InviteUser': /*            */ '- - - - Y Y - -',
  'gatehouse.v1.AccountService/GetInvitation': /*         */ '- - - - Y - - -',
  'gatehouse.v1.AccountService/AcceptInvitation': /*      */ '- - - - Y - - -',
  'gatehouse.v1.AccountService/StartPasswordReset': /*    */ '- - - - Y - - -',
  'gatehouse.v1.AccountService/GetPasswordReset': /*      */ '- - - - Y - - -',
  'gatehouse.v1.AccountService/RequestAccountHelp': /*    */ '- - - - Y Y - -',
  'gatehouse.v1.AccountService/ApproveAccountHelp': /*    */ '- - - - Y Y - -',
  'gatehouse.v1.AccountService/RejectAccountHelp': /*     */ '- - - - Y Y - -',
  'gatehouse.v1.AccountService/ListAccountHelp': /*       */ '- - - - Y Y - -',
  'gatehouse.v1.AccountService/TakeAccountMails': /*      */ '- - - - Y - - -',
  'gatehouse.v1.AccountService/ListAccountNotices': /*    */ '- - - - Y - - -',
  'gatehouse.v1.AccountService/ResetPassword': /*         */ '- - - - Y - - -',
  'gatehouse.v1.AccountService/VerifyPassword': /*        */ '- - - - Y - - -',
  'gatehouse.v1.AccountService/VerifyTotp': /*            */ '- - - - Y - - -',
  'gatehouse.v1.AccountService/BeginTotp': /*             */ '- - - - Y - - -',
  'gatehouse.v1.AccountService/ConfirmTotp': /*           */ '- - - - Y - - -',
  'gatehouse.v1.AccountService/DisableTotp': /*           */ '- - - - Y - - -',
  'gatehouse.v1.AccountService/ChangePassword': /*        */ '- - - - Y - - -',
  'gatehouse.v1.AccountService/UpdateProfile': /*         */ '- - - - Y - - -',
  'gatehouse.v1.AccountService/ListUsers': /*             */ '- - - - Y Y - Y',
  'gatehouse.v1.AccountService/ChangeMembership': /*      */ '- - - - Y Y - -',
  'gatehouse.v1.AccountService/RemoveMembership': /*      */ '- - - - Y Y - -',
  'gatehouse.v1.AccountService/SetUserDisabled': /*       */ '- - - - Y Y - -',
  'gatehouse.v1.SessionService/ReadSession': /*           */ '- - - - Y - - -',
  'gatehouse.v1.SessionService/WriteSession': /*          */ '- - - - Y - - -',
  'gatehouse.v1.SessionService/DeleteSession': /*         */ '- - - - Y - - -',
  'gatehouse.v1.SessionService/EndUserSessions': /*       */ '- - - - Y - - -',
  'gatehouse.v1.SessionService/UseForm': /*               */ '- - - - Y - - -',
  'gatehouse.v1.WalletService/ListWallets': /*              */ 'Y Y Y - Y Y Y Y',
  'gatehouse.v1.MerchantWalletService/ListMerchantWallets': '- - - - Y Y - -',
  'gatehouse.v1.MerchantWalletService/SwitchMerchantWallet': '- - - - Y Y - -',
  'gatehouse.v1.MerchantWalletService/AddWalletAccount': /* */ '- - - - Y Y - -',
  'gatehouse.v1.MerchantWalletService/CheckWalletAccount': '- - - - Y Y - -',
  'gatehouse.v1.MerchantWalletService/PromoteWalletAccount': '- - - - Y Y - -',
  'gatehouse.v1.MerchantWalletService/RetireWalletAccount': '- - - - Y Y - -',
  'gatehouse.v1.MerchantWalletService/RemoveWalletAccount': '- - - - Y Y - -',
  'gatehouse.v1.MerchantWalletService/LeaseWalletAccountChecks': '- - Y - - - - -',
  'gatehouse.v1.MerchantWalletService/RecordWalletAccountCheck': '- - Y - - - - -',
  'gatehouse.v1.MerchantWalletService/GetWalletAccountSettings': '- - Y - - - - -',
  'gatehouse.v1.RecoveryService/GetRecovery': /*           */ '- - - - Y Y - Y',
  'gatehouse.v1.RecoveryService/BeginRecovery': /*         */ '- - - - - Y - -',
  'gatehouse.v1.RecoveryService/AcceptRecovery': /*        */ '- - - - - Y - -',
  'gatehouse.v1.RecoveryService/ListRecoveredOrders': /*   */ '- - - - Y Y - Y',
  'gatehouse.v1.WalletStatusService/ReportWalletStatus': /* */ '- - Y - - - - -',
  'gatehouse.v1.WalletStatusService/ListWalletStatuses': /* */ '- - - - Y Y - Y',
  'gatehouse.v1.ReportService/GetOrderReport': /*           */ '- - - - Y Y - Y',
  'gatehouse.v1.ReportService/GetFirstSteps': /*            */ '- - - - Y Y - Y',
  'gatehouse.v1.DiagnosticsService/Diagnose': /*            */ '- - - Y Y Y - Y',
  'grpc.reflection.v1.ServerReflection/ServerReflectionInfo': 'Y Y Y Y Y Y Y Y',
  'grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo': 'Y Y Y Y Y Y Y Y',
};

/** Open to every caller, because a probe has no token. */
const openToAnyone = [
  'grpc.health.v1.Health/Check',
  'grpc.health.v1.Health/List',
  'grpc.health.v1.Health/Watch',
];

const isUnary = (name: string): boolean => {
  const { requestStream, responseStream } = methodNamed(name);
  return !requestStream && !responseStream;
};

const stack = sharedStack({ facades: 0 });

test('the table has a row for every method the server serves, and no other', async () => {
  const client = plainGrpcClient(stack.addresses[0]!, stack.tokens.reader);
  const [answer] = await client.exchange('grpc.reflection.v1.ServerReflection', 'ServerReflectionInfo', [
    { list_services: '' },
  ]);
  client.close();
  const { service: served } = answer!['list_services_response'] as { service: { name: string }[] };
  const methods = served.flatMap(({ name }) => methodNamesOf(name));
  expect([...Object.keys(matrix), ...openToAnyone].sort()).toEqual(methods.sort());
});

/**
 * Calls with an empty request. A caller with access gets the missing fields or an answer. A caller without access is
 * refused before the request is read. Returns 'allowed', or code and reason of the refusal.
 */
type Call = (method: string, authorization: string | undefined) => Promise<string>;

const client = shared(async () => plainGrpcClient(stack.addresses[0]!));

const overGrpc: Call = async (name, authorization) => {
  const [service = '', method = ''] = name.split('/');
  const headers = authorization === undefined ? {} : { authorization };
  try {
    if (isUnary(name)) {
      const { error } = await client.call(service, method, {}, { headers });
      return verdict(error?.code, error?.info?.['reason']);
    }
    if (!methodNamed(name).requestStream) {
      const watch = client.stream(service, method, {}, { headers });
      await watch[Symbol.asyncIterator]().next();
      watch.cancel();
    } else await client.exchange(service, method, [{ list_services: '' }], { headers });
    return 'allowed';
  } catch (error) {
    const { code, details } = error as { code: number; details: string };
    return verdict(code, details.includes('open to') ? 'ROLE_NOT_ALLOWED' : 'INVALID_SERVICE_TOKEN');
  }
};

/** Connect's own protocol needs no library: a unary call is a POST of JSON. */
const overConnect: Call = async (name, authorization) => {
  const response = await fetch(`${stack.connectUrl}/${name}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(authorization === undefined ? {} : { authorization }),
    },
    body: '{}',
  });
  if (response.ok) return 'allowed';
  const { code, details } = (await response.json()) as {
    code: string;
    details: { debug?: { reason?: string } }[];
  };
  return verdict(codeNames[code], details[0]?.debug?.reason);
};

const codeNames: Readonly<Record<string, Code>> = {
  unauthenticated: Code.Unauthenticated,
  permission_denied: Code.PermissionDenied,
  invalid_argument: Code.InvalidArgument,
};

function verdict(code: number | undefined, reason: unknown): string {
  const isRefusal = code === Code.Unauthenticated || code === Code.PermissionDenied;
  // An empty API key or password is UNAUTHENTICATED too, but the method has checked it.
  const wasLookedAt = reason === 'INVALID_API_KEY' || reason === 'WRONG_CREDENTIALS';
  return isRefusal && !wasLookedAt ? `${Code[code]} ${String(reason)}` : 'allowed';
}

const allowedTo = (method: string): RoleName[] => {
  const cells = matrix[method]!.split(' ');
  return roleNames.filter((_role, column) => cells[column] === 'Y');
};

describe.each(Object.keys(matrix))('%s', (method) => {
  test('is open to its roles over gRPC and closed to the others', async () => {
    const verdicts = await Promise.all(
      roleNames.map(async (role) => [role, await overGrpc(method, `Bearer ${stack.tokens[role]}`)]),
    );
    expect(Object.fromEntries(verdicts)).toEqual(expectedVerdicts(method));
  });

  // Both ports serve the same guarded methods.
  if (isUnary(method))
    test('is open over Connect to a role of its own and closed to another', async () => {
      const [allowed, denied] = [true, false].map((wanted) =>
        roleNames.find((role) => allowedTo(method).includes(role) === wanted),
      );
      const asked = [allowed, denied].flatMap((role) => role ?? []);
      const verdicts = await Promise.all(
        asked.map(async (role) => [role, await overConnect(method, `Bearer ${stack.tokens[role]}`)]),
      );
      const expected = expectedVerdicts(method);
      expect(verdicts).toEqual(asked.map((role) => [role, expected[role]]));
    });

  // service-tokens.test.ts has all forms of a bad header.
  test('denies calls without a token', async () => {
    const calls = isUnary(method) ? [overGrpc, overConnect] : [overGrpc];
    const verdicts = await Promise.all(calls.map((call) => call(method, undefined)));
    expect(verdicts).toEqual(calls.map(() => 'Unauthenticated INVALID_SERVICE_TOKEN'));
  });
});

function expectedVerdicts(method: string): Record<string, string> {
  const allowed = allowedTo(method);
  return Object.fromEntries(
    roleNames.map((role) => [role, allowed.includes(role) ? 'allowed' : 'PermissionDenied ROLE_NOT_ALLOWED']),
  );
}

/**
 * Only roles that may register an order may have its checkout URL, which can pay and cancel it: the columns of
 * `matrix`.
 */
const mayReadCheckoutUrl = 'Y - - - Y Y Y -'.split(' ');

test('the checkout URL is given to the roles that may register orders, and to no other', async () => {
  const merchant = await stack.createMerchant();
  const { checkoutUrl } = await stack
    .client(OrderService, 'writer')
    .registerOrder(registration({ merchantId: merchant.id }));
  const asked = orderNamed(merchant.id, 'A-1');

  for (const [column, role] of roleNames.entries()) {
    const client = stack.client(OrderService, role);
    const [plain, withUrl] = (
      await client.batchGetOrders({ requests: [asked, { ...asked, withCheckoutUrl: true }] })
    ).results;
    const alone = client.getOrder({ ...asked, withCheckoutUrl: true });

    expect(plain?.result).toMatchObject({ case: 'response', value: { checkoutUrl: '' } });
    if (mayReadCheckoutUrl[column] === 'Y') {
      expect(withUrl?.result).toMatchObject({ case: 'response', value: { checkoutUrl } });
      await expect(alone).resolves.toMatchObject({ checkoutUrl });
    } else {
      expect(withUrl?.result).toMatchObject({
        case: 'error',
        value: {
          code: Code.PermissionDenied,
          message: expect.stringContaining('only for roles that may register orders'),
        },
      });
      await expect(failureOf(alone)).resolves.toMatchObject({ reason: 'ROLE_NOT_ALLOWED' });
    }
  }
});

test('a call with a token that this server does not know is denied', async () => {
  const method = 'gatehouse.v1.OrderService/GetOrder';
  const verdicts = await Promise.all(
    [overGrpc, overConnect].map((call) => call(method, 'Bearer 00112233445566778899aabbccddeeff')),
  );
  expect(verdicts).toEqual(verdicts.map(() => 'Unauthenticated INVALID_SERVICE_TOKEN'));
});

test.each(openToAnyone)('%s is open to a caller without a token, and refuses a wrong one', async (method) => {
  expect(await overGrpc(method, undefined)).toBe('allowed');
  expect(await overGrpc(method, 'Bearer wrong')).toBe('Unauthenticated INVALID_SERVICE_TOKEN');
});
