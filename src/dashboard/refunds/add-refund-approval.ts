import { timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { usualDecimals } from '../../contract/amount-text.ts';
import { MemberRole } from '../../gen/gatehouse/v1/account_service_pb.js';
import type { ApprovalLimit } from '../../gen/gatehouse/v1/merchant_service_pb.js';
import { pathIn, pageMerchantOf } from '../access/page-context.ts';
import { tryCall, callOptions, loadPanel } from '../try-call.ts';
import type { Dashboard } from '../dashboard.ts';
import { fieldOf } from '../forms/read-form.ts';
import { wordsFor } from '../language/words.ts';
import { notFound, PageProblem } from '../page-problem.ts';
import { placesOf } from '../payments/decimal-text.ts';
import { orderWords } from '../payments/order-words.ts';
import { flash } from '../session/sign-in-state.ts';
import { refundWords } from './refund-writing.ts';

/** The limits that a form sets: those for every requester, and those of the roles that refund in the dashboard. */
const holders = [
  { name: 'everybody', role: MemberRole.UNSPECIFIED, prefix: 'limit_' },
  { name: 'developers', role: MemberRole.DEVELOPER, prefix: 'developer_limit_' },
  { name: 'owners', role: MemberRole.OWNER, prefix: 'owner_limit_' },
] as const;
type Holder = (typeof holders)[number];

/** Decimal text of an amount, or zero. */
const amountPattern = /^(?:0|[1-9]\d{0,11})(?:\.\d{1,4})?$/;

interface Filled {
  readonly values: Readonly<Record<string, string>>;
  readonly errors: Readonly<Record<string, string>>;
  readonly status: number;
  readonly isOverTaken?: boolean;
}

/** The page on which owners set the amounts above which refunds need a second person. */
export function addRefundApproval(app: FastifyInstance, { clients, sendPage }: Dashboard): void {
  const path = '/m/:merchantId/refund-approval';
  const selfOf = (request: FastifyRequest): string =>
    pathIn({ ...pageMerchantOf(request), environment: undefined }, 'refund-approval');
  const fieldName = ({ prefix }: Holder, currency: string): string => `${prefix}${currency}`;
  const nameOf = ({ role, currency }: Pick<ApprovalLimit, 'role' | 'currency'>): string =>
    fieldName(holders.find((holder) => holder.role === role) ?? holders[0], currency);

  const read = async (request: FastifyRequest) => {
    const { merchantId } = pageMerchantOf(request);
    const { merchant, currencies } = await clients.merchants.getMerchant(
      { merchantId },
      callOptions(request),
    );
    if (merchant === undefined) throw notFound('MERCHANT_NOT_FOUND');
    const limits = merchant.refundPolicy?.approvalLimits ?? [];
    // Orders in a currency that new orders no longer have can still be refunded, so its limit stays.
    const shown = [...new Set([...currencies, ...limits.map(({ currency }) => currency)])];
    return { merchant, limits, currencies: shown };
  };

  const show = async (request: FastifyRequest, reply: FastifyReply, filled?: Filled) => {
    const words = wordsFor(request, refundWords).approval;
    const { merchantId, role } = pageMerchantOf(request);
    const [{ merchant, limits, currencies }, owners] = await Promise.all([
      read(request),
      loadPanel(request, async (options) => {
        const { users } = await clients.accounts.listUsers({ merchantId, role: MemberRole.OWNER }, options);
        const isOwner = ({ memberships }: (typeof users)[number]) =>
          memberships.some((each) => each.merchantId === merchantId && each.role === MemberRole.OWNER);
        return users.filter((user) => !user.isDisabled && isOwner(user)).length;
      }),
    ]);
    const stored = Object.fromEntries(limits.map((limit) => [nameOf(limit), limit.amount]));
    const isOverTaken = filled?.isOverTaken === true;
    const values = filled === undefined || isOverTaken ? stored : filled.values;
    reply.code(filled?.status ?? 200);
    return sendPage(request, reply, {
      template: 'refunds/approval',
      title: words.title,
      area: 'refundApproval',
      words,
      self: selfOf(request),
      view: {
        path: selfOf(request),
        mayChange: role === 'owner',
        isOverTaken,
        isLoneOwner: owners.isThere && owners.value < 2,
        seen: merchant.updateTime === undefined ? '' : timestampDate(merchant.updateTime).toISOString(),
        errors: filled?.errors ?? {},
        groups: holders.map((holder) => ({
          ...words.groups[holder.name],
          limits: currencies.map((currency) => {
            const name = fieldName(holder, currency);
            const label = words.limit(currency);
            return { name, label, value: values[name] ?? '', error: filled?.errors[name] };
          }),
        })),
      },
    });
  };

  app.get(path, (request, reply) => show(request, reply));

  app.post(path, async (request, reply) => {
    const words = wordsFor(request, refundWords).approval;
    const { currencies } = await read(request);
    const given = holders.flatMap((holder) =>
      currencies.map((currency) => {
        const amount = fieldOf(request.body, fieldName(holder, currency)).trim();
        return { role: holder.role, currency, amount: /^0+(?:\.0+)?$/.test(amount) ? '0' : amount };
      }),
    );
    const values = Object.fromEntries(given.map((limit) => [nameOf(limit), limit.amount]));
    const wrongOf = (wrong: typeof given, problem = words.wrongAmount) =>
      Object.fromEntries(wrong.map((limit) => [nameOf(limit), problem]));
    const set = given.filter(({ amount }) => amount !== '');
    const errors = wrongOf(set.filter(({ amount }) => !amountPattern.test(amount)));
    if (Object.keys(errors).length > 0) return show(request, reply, { values, errors, status: 400 });
    const seen = new Date(fieldOf(request.body, 'seen'));
    if (Number.isNaN(seen.getTime()))
      return show(request, reply, { values, errors: {}, status: 409, isOverTaken: true });
    const answer = await tryCall(request, (options) =>
      clients.merchants.updateMerchant(
        {
          merchantId: pageMerchantOf(request).merchantId,
          expectedUpdateTime: timestampFromDate(seen),
          refundPolicy: { approvalLimits: set },
        },
        options,
      ),
    );
    if (answer.ok) {
      flash(request, { tone: 'good', text: words.done });
      return reply.redirect(selfOf(request), 303);
    }
    if (answer.refusal.problem === 'changedMeanwhile')
      return show(request, reply, { values, errors: {}, status: 409, isOverTaken: true });
    const { problem, reason, retryAfterSeconds } = answer.refusal;
    if (problem !== 'badRequest') throw new PageProblem(problem, reason, { retryAfterSeconds });
    // Core refuses an amount with more decimals than its currency has.
    const tooFine = set.filter(({ amount, currency }) => placesOf(amount) > usualDecimals(currency));
    const { decimals } = wordsFor(request, orderWords).amountProblems;
    const refused = tooFine.length > 0 ? wrongOf(tooFine, decimals) : wrongOf(set);
    return show(request, reply, { values, errors: refused, status: 400 });
  });
}
