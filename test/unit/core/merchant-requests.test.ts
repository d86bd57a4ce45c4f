import { create } from '@bufbuild/protobuf';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { expect, test } from '@jest/globals';
import { parseUpdate } from '../../../src/core/merchants/merchant-requests.ts';
import { UpdateMerchantRequestSchema } from '../../../src/gen/gatehouse/v1/merchant_service_pb.js';
import { MemberRole } from '../../../src/gen/gatehouse/v1/account_service_pb.js';
import { outcomeOf, wrongFields } from '../../support/rpc-failure.ts';

type Update = MessageInitShape<typeof UpdateMerchantRequestSchema>;
const parse = async (update: Update) =>
  parseUpdate(create(UpdateMerchantRequestSchema, update), undefined, {
    currencies: ['ETB', 'USD'],
    wallets: [],
  });

const lifetime = (seconds: bigint, nanos = 0): Update => ({ sessionLifetime: { seconds, nanos } });
const days = (personalDataDays: number): Update => ({ personalDataDays });
const rate = (requestsPerSecond: number): Update => ({ terms: { requestsPerSecond } });
const limit = (amount: string, currency = 'ETB', role = MemberRole.UNSPECIFIED) => ({
  amount,
  currency,
  role,
});
const limits = (...approvalLimits: ReturnType<typeof limit>[]): Update => ({
  refundPolicy: { approvalLimits },
});
const largest = (...largestAmounts: { currency: string; amount: string }[]): Update => ({
  terms: { largestAmounts },
});

test.each<readonly [string, Update]>([
  ['a session of 5 minutes', lifetime(300n)],
  ['a session of a day', lifetime(86_400n)],
  ['personal data for the period of the deployment', days(0)],
  ['personal data for 30 days', days(30)],
  ['personal data for 100 years', days(36_500)],
  ['the standard rate', rate(0)],
  ['the highest rate', rate(100_000)],
  [
    'a largest amount in each currency',
    largest({ currency: 'ETB', amount: '1' }, { currency: 'USD', amount: '1' }),
  ],
  ['the approval of each refund', limits(limit('0'))],
  ['a contact', { contact: { phone: '0911 22 33 44', email: 'help@shop.example' } }],
  ['a limit for everybody and one for owners', limits(limit('5'), limit('9', 'ETB', MemberRole.OWNER))],
])('a merchant may have %s', async (_what, update) => {
  expect(await outcomeOf(parse(update))).toBe('done');
});

test.each<readonly [string, Update, field: string]>([
  ['no change', {}, 'name'],
  ['a session of 299 seconds', lifetime(299n), 'session_lifetime'],
  ['a session of more than a day', lifetime(86_401n), 'session_lifetime'],
  ['a session of half a second', lifetime(300n, 5e8), 'session_lifetime'],
  ['personal data for 29 days', days(29), 'personal_data_days'],
  ['personal data for more than 100 years', days(36_501), 'personal_data_days'],
  ['a negative rate', rate(-1), 'terms.requests_per_second'],
  ['a rate above the highest', rate(100_001), 'terms.requests_per_second'],
  [
    'an option of no wallet',
    { terms: { sandboxPaymentOptions: ['walleta_ussd'] } },
    'terms.sandbox_payment_options',
  ],
  ['another currency', { terms: { currencies: ['ETB', 'KES'] } }, 'terms.currencies'],
  [
    'two largest amounts in one currency',
    largest({ currency: 'ETB', amount: '1' }, { currency: 'ETB', amount: '2' }),
    'terms.largest_amounts',
  ],
  ['a largest amount of 0', largest({ currency: 'ETB', amount: '0' }), 'terms.largest_amounts'],
  ['a negative largest amount', largest({ currency: 'ETB', amount: '-5' }), 'terms.largest_amounts'],
  ...['12', '0911223344'.repeat(3), 'call us', '0911,22'].map(
    (phone) => [`the phone ${phone}`, { contact: { phone } }, 'contact.phone'] as const,
  ),
  ...['shop.example', 'help@shop', 'help@shop.example?subject=x y', `${'a'.repeat(250)}@b.example`].map(
    (email) => [`the address ${email}`, { contact: { email } }, 'contact.email'] as const,
  ),
  ['two limits of refunds in one currency', limits(limit('1'), limit('2')), 'refund_policy.approval_limits'],
  ['a limit in another currency', limits(limit('1', 'KES')), 'refund_policy.approval_limits'],
  [
    'a negative limit for owners',
    limits(limit('-1', 'ETB', MemberRole.OWNER)),
    'refund_policy.approval_limits',
  ],
  [
    'a limit for viewers besides that for everybody',
    limits(limit('1'), limit('1', 'ETB', MemberRole.VIEWER)),
    'refund_policy.approval_limits',
  ],
])('a merchant may not have %s', async (_what, update, field) => {
  expect(await wrongFields(parse(update))).toBe(field);
});

test('a change has the values to store, and their texts for the audit log', async () => {
  const { set, details } = await parse({
    sessionLifetime: { seconds: 600n },
    refundPolicy: {
      approvalLimits: [limit('9', 'ETB', MemberRole.OWNER), limit('8', 'USD', MemberRole.OWNER)],
    },
  });

  expect(set).toEqual({
    sessionLifetimeSeconds: 600,
    refundApprovalLimits: {},
    refundRoleLimits: { OWNER: { ETB: '9', USD: '8' } },
  });
  expect(details).toEqual({
    session_lifetime_seconds: 600,
    refund_approval_limits: 'no limit',
    refund_role_limits: 'owner 9 ETB, owner 8 USD',
  });
});
