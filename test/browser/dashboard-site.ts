import { AccountService, MemberRole } from '../../src/gen/gatehouse/v1/account_service_pb.js';
import { Environment } from '../../src/gen/gatehouse/v1/order_pb.js';
import { openDashboardUsers } from '../support/dashboard-users.ts';
import type { Stack } from '../support/stack.ts';
import { waitUntil } from '../support/wait-until.ts';
import type { DashboardSite } from './dashboard-pages.ts';

/** A merchant that has keys, secrets and a webhook that does not arrive. */
export async function openDashboardSite(stack: Stack): Promise<DashboardSite> {
  const users = openDashboardUsers(stack);
  const accounts = stack.client(AccountService, 'operator');
  const webhooks = stack.webhookClient('operator');
  const { id: merchantId } = await stack.createMerchant();
  const owner = await users.member(merchantId);
  const operator = await users.operator();
  const [invited, reset] = await Promise.all([
    accounts.inviteUser({ email: 'new@shop.example', merchantId, role: MemberRole.DEVELOPER }),
    stack.client(AccountService, 'dashboard').startPasswordReset({ email: owner.email }),
  ]);
  await webhooks.rotateSigningSecret({ merchantId, environment: Environment.SANDBOX });
  await webhooks.rotateSigningSecret({ merchantId, environment: Environment.SANDBOX });
  await webhooks.sendTestEvent({
    merchantId,
    environment: Environment.SANDBOX,
    url: `http://127.0.0.1:9/${'a-long-path-without-an-end'.repeat(8)}`,
  });
  await waitUntil('the webhook was tried', async () => {
    const { deliveries } = await webhooks.listDeliveries({ merchantId });
    return deliveries[0]?.attemptCount ? true : undefined;
  });
  return {
    origin: stack.dashboards[0]?.origin ?? '',
    merchantId,
    owner,
    operator,
    invitation: `/invitation/${invited.token}`,
    reset: `/reset/${reset.token}`,
  };
}
