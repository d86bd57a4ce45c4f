import { timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { MemberRole } from '../../gen/gatehouse/v1/account_service_pb.js';
import { pathIn, placeOf } from '../access/place.ts';
import { ask, callOptions, panel } from '../ask.ts';
import type { Dashboard } from '../dashboard.ts';
import { fieldOf } from '../forms/read-form.ts';
import { wordsFor } from '../language/words.ts';
import { notFound } from '../page-problem.ts';
import { flash } from '../session/sign-in-state.ts';
import { refundWords } from './refund-writing.ts';

/** Decimal text of an amount, or zero. */
const amountPattern = /^\d{1,12}(?:\.\d{1,4})?$/;

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
    pathIn({ ...placeOf(request), environment: undefined }, 'refund-approval');
  const fieldName = (currency: string): string => `limit_${currency}`;

  const read = async (request: FastifyRequest) => {
    const { merchantId } = placeOf(request);
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
    const { merchantId, role } = placeOf(request);
    const [{ merchant, limits, currencies }, owners] = await Promise.all([
      read(request),
      panel(request, async (options) => {
        const { users } = await clients.accounts.listUsers({ merchantId }, options);
        const isOwner = ({ memberships }: (typeof users)[number]) =>
          memberships.some((each) => each.merchantId === merchantId && each.role === MemberRole.OWNER);
        return users.filter((user) => !user.isDisabled && isOwner(user)).length;
      }),
    ]);
    const stored = Object.fromEntries(limits.map(({ currency, amount }) => [fieldName(currency), amount]));
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
        limits: currencies.map((currency) => ({
          name: fieldName(currency),
          label: words.limit(currency),
          value: values[fieldName(currency)] ?? '',
          error: filled?.errors[fieldName(currency)],
        })),
      },
    });
  };

  app.get(path, (request, reply) => show(request, reply));

  app.post(path, async (request, reply) => {
    const words = wordsFor(request, refundWords).approval;
    const { currencies } = await read(request);
    const given = currencies.map((currency) => {
      const amount = fieldOf(request.body, fieldName(currency)).trim();
      return { currency, amount: /^0+(?:\.0+)?$/.test(amount) ? '0' : amount };
    });
    const values = Object.fromEntries(given.map(({ currency, amount }) => [fieldName(currency), amount]));
    const wrongOf = (wrong: typeof given) =>
      Object.fromEntries(wrong.map(({ currency }) => [fieldName(currency), words.wrongAmount]));
    const set = given.filter(({ amount }) => amount !== '');
    const errors = wrongOf(set.filter(({ amount }) => !amountPattern.test(amount)));
    if (Object.keys(errors).length > 0) return show(request, reply, { values, errors, status: 400 });
    const seen = new Date(fieldOf(request.body, 'seen'));
    if (Number.isNaN(seen.getTime()))
      return show(request, reply, { values, errors: {}, status: 409, isOverTaken: true });
    const answer = await ask(request, (options) =>
      clients.merchants.updateMerchant(
        {
          merchantId: placeOf(request).merchantId,
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
    // Core refuses an amount with more decimals than its currency has.
    return show(request, reply, { values, errors: wrongOf(set), status: 400 });
  });
}
