import type { AuditWords } from '../audit-words.ts';
import { refunds } from './refunds.ts';

/** The pages of the audit log. A sentence states the change. The page shows its author in another column. */
export const audit: AuditWords = {
  title: 'Audit log',
  lead: 'Changes and sign-ins with their authors, newest first. Entries cannot be changed or removed.',
  operatorLead:
    'Changes and sign-ins at all merchants with their authors, newest first. Entries cannot be changed or removed.',
  columns: { when: 'When', who: 'Who', what: 'What', merchant: 'Merchant' },
  filter: {
    title: 'Filter',
    kind: 'Kind of change',
    any: 'All kinds',
    from: 'From',
    to: 'To (inclusive)',
    submit: 'Show',
    clear: 'Show all',
  },
  kinds: {
    user: 'Users',
    session: 'Sign-ins',
    api_key: 'API keys',
    signing_secret: 'Signing secrets',
    endpoint: 'Hosts of webhook_urls',
    webhook_endpoint: 'Webhook endpoints',
    delivery: 'Single webhooks',
    redelivery: 'Webhooks sent again',
    test_event: 'Test webhooks',
    order: 'Orders',
    refund: 'Refunds',
    settlement: 'Settlements by hand',
    stray_payment: 'Stray payments',
    merchant_wallet: 'Wallets',
    wallet_account: 'Wallet accounts',
    personal_data: 'Personal data',
    recovery: 'Recoveries',
    merchant: 'Merchant',
  },
  empty: {
    title: 'No entries yet',
    body: 'Every change of keys, users, webhooks and the merchant itself is recorded here.',
  },
  noMatch: 'No entries match. Choose another kind or other days.',
  actors: {
    operator: (name) => `Operator at the command line: ${name}`,
    other: 'A program',
    themselves: 'The user, by a link or a password',
    failedSignIn: 'Somebody who could not sign in',
  },
  roles: { OWNER: 'owner', DEVELOPER: 'developer', VIEWER: 'viewer', OPERATOR: 'operator of the gateway' },
  environments: { SANDBOX: 'sandbox', PRODUCTION: 'production' },
  proofs: {
    PASSWORD: 'with a password',
    ONE_TIME_CODE: 'with a password and a one-time code',
    RECOVERY_CODE: 'with a password and a recovery code',
  },
  refusals: {
    WRONG_PASSWORD: 'the password was wrong',
    WRONG_CODE: 'the password was right, and the code was wrong',
    KEPT_OUT: 'the account is disabled',
    TOO_MANY_TRIES: 'there were too many attempts',
  },
  details: 'Details',
  request: 'Request',
  sentences: {
    'merchant.create': ({ name }) => `The merchant ${name} was created.`,
    'merchant.update': () => 'The terms of the merchant were changed.',
    'merchant.suspend': ({ reason }) => `The merchant was suspended${reason === '' ? '' : `: ${reason}`}.`,
    'merchant.resume': () => 'The merchant was resumed.',
    'merchant.activate_production': () => 'Production was activated for the merchant.',
    'merchant.certify': () => 'The results of a certification were recorded.',
    'api_key.issue': ({ label, prefix, environment }) =>
      `The API key ${label || prefix} was created for ${environment}.`,
    'api_key.rotate': () => 'An API key was replaced by a new one.',
    'api_key.revoke': () => 'An API key was revoked.',
    'api_key.set_scopes': () => 'The scopes of an API key were changed.',
    'signing_secret.rotate': ({ environment }) => `A new signing secret was created for ${environment}.`,
    'signing_secret.promote': ({ environment }) =>
      `The new signing secret of ${environment} became the current one.`,
    'endpoint.pause': ({ target }) => `Webhooks to ${target} were paused.`,
    'endpoint.resume': ({ target }) => `Webhooks to ${target} were resumed.`,
    'webhook_endpoint.create': ({ endpoint, environment }) =>
      `A webhook endpoint at ${endpoint} was created for ${environment}.`,
    'webhook_endpoint.update': ({ endpoint }) => `The webhook endpoint at ${endpoint} was changed.`,
    'webhook_endpoint.pause': ({ endpoint }) => `The webhook endpoint at ${endpoint} was paused.`,
    'webhook_endpoint.resume': ({ endpoint }) => `The webhook endpoint at ${endpoint} was resumed.`,
    'webhook_endpoint.delete': ({ endpoint }) => `The webhook endpoint at ${endpoint} was deleted.`,
    'delivery.redeliver': ({ endpoint }) => `A webhook was sent to ${endpoint} again.`,
    'redelivery.start': () => 'A redelivery of webhooks was started.',
    'test_event.send': ({ endpoint }) => `A test webhook was sent to ${endpoint}.`,
    'order.cancel': ({ target }) => `The order ${target} was cancelled.`,
    'refund.create': ({ money, orderNumber, reason }) =>
      `A refund of ${money} of the order ${orderNumber} was requested: ${reason}.`,
    'refund.approve': ({ refundNumber }) => `The refund ${refundNumber} was approved.`,
    'refund.decline': ({ refundNumber, reason }) =>
      `The refund ${refundNumber} was declined${reason === '' ? '' : `: ${reason}`}.`,
    'refund.complete': ({ refundNumber }) => `The wallet completed the refund ${refundNumber}.`,
    'refund.fail': ({ refundNumber, reason }) =>
      `The refund ${refundNumber} failed: ${(refunds.failures[reason] ?? refunds.otherFailure).reason}.`,
    'settlement.propose': ({ reason, providerReference }) =>
      `An operator proposed a settlement by hand, with the reference ${providerReference}: ${reason}.`,
    'settlement.confirm': ({ reason, providerReference }) =>
      `A second operator confirmed a settlement by hand, with the reference ${providerReference}: ${reason}.`,
    'settlement.withdraw': () => 'The proposal of a settlement by hand was withdrawn.',
    'stray_payment.retry_reversal': ({ target }) =>
      `The reversal of ${target} was requested from the wallet again.`,
    'merchant_wallet.switch_on': ({ wallet, environment }) =>
      `The wallet ${wallet} was switched on in ${environment}.`,
    'merchant_wallet.switch_off': ({ wallet, environment }) =>
      `The wallet ${wallet} was switched off in ${environment}.`,
    'wallet_account.add': ({ wallet, environment }) =>
      `The merchant’s own account at the wallet ${wallet} was added in ${environment}.`,
    'wallet_account.check': ({ target }) => `A check of the wallet account ${target} was requested.`,
    'wallet_account.promote': ({ target, wallet }) =>
      `The account ${target} receives new payments of the wallet ${wallet}.`,
    'wallet_account.retire': ({ target, wallet }) =>
      `The account ${target} no longer receives new payments of the wallet ${wallet}.`,
    'wallet_account.remove': ({ target }) => `The wallet account ${target} was removed.`,
    'personal_data.erase': () => 'The erasure of the personal data of a customer was requested.',
    'personal_data.period_ended': () =>
      'Personal data of old orders became due for erasure, because its period has ended.',
    'recovery.begin': () => 'A recovery was started, because the database was restored.',
    'recovery.accept': ({ wallet, environment, reason }) =>
      wallet === ''
        ? `A step of the recovery was accepted: ${reason}.`
        : `The wallet ${wallet} was accepted in the recovery of ${environment}: ${reason}.`,
    'user.invite': ({ email, role }) => `${email} was invited as ${role}.`,
    'user.accept_invitation': ({ email, role }) => `${email} accepted the invitation and became ${role}.`,
    'user.take_invitation_back': ({ email }) => `The invitation of ${email} was withdrawn.`,
    'user.change_role': ({ email, from, to }) => `The role of ${email} was changed from ${from} to ${to}.`,
    'user.remove': ({ email, role }) => `${email} was removed. The role was ${role}.`,
    'user.disable': ({ email }) => `The account of ${email} was disabled.`,
    'user.enable': ({ email }) => `The account of ${email} was enabled.`,
    'user.start_reset': ({ email }) => `A password reset link was created for ${email}.`,
    'user.ask_reset': ({ email }) => `A password reset link was requested for ${email}.`,
    'user.approve_reset': ({ email }) =>
      `A second operator approved the password reset of ${email} and received the link.`,
    'user.ask_remove_totp': ({ email }) => `The removal of the one-time codes of ${email} was requested.`,
    'user.remove_totp': ({ email }) =>
      `A second operator approved, and the one-time codes of ${email} were removed.`,
    'user.reject_help': ({ email }) => `A request to help ${email} was withdrawn.`,
    'user.reset_password': ({ email }) => `${email} set a new password with a link.`,
    'user.change_password': ({ email }) => `${email} changed their password.`,
    'user.enable_totp': ({ email }) => `${email} turned one-time codes on.`,
    'user.disable_totp': ({ email }) => `${email} turned one-time codes off.`,
    'user.use_recovery_code': ({ email, left }) =>
      `${email} used a recovery code. ${left} ${left === '1' ? 'is' : 'are'} left.`,
    'user.update_profile': ({ email }) => `${email} changed their name or language.`,
    'session.begin': ({ email, proof }) => `${email} signed in ${proof}.`,
    'session.end': ({ email }) => `${email} signed out.`,
    'session.end_others': ({ email }) => `${email} ended their other sessions.`,
    'session.refuse': ({ email, refusal }) => `A sign-in as ${email} was denied, because ${refusal}.`,
  },
};
