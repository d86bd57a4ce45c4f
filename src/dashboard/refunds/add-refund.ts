import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { RefundStatus } from '../../gen/gatehouse/v1/order_pb.js';
import type { Refund } from '../../gen/gatehouse/v1/order_pb.js';
import { mayChange, pageMerchantOf, pathIn, scopeOf } from '../access/page-context.ts';
import { tryCall, callOptions, loadPanel } from '../try-call.ts';
import type { Answer } from '../try-call.ts';
import type { Dashboard } from '../dashboard.ts';
import { fieldOf } from '../forms/read-form.ts';
import { wordsFor } from '../language/words.ts';
import { PageProblem, notFound } from '../page-problem.ts';
import { flash } from '../session/sign-in-state.ts';
import { isOpenRefund } from '../payments/refund-states.ts';
import {
  isOwnRefund,
  mayDecide,
  refundIdOf,
  refundPath,
  refundWords,
  refundWriting,
} from './refund-writing.ts';
import { refundStory } from './refund-story.ts';

const longestReason = 255;

/** The page of one refund: its state, who requested and approved it, and what to do when it failed. */
export function addRefund(app: FastifyInstance, dashboard: Dashboard): void {
  const { clients, sendPage, timeZone, assets } = dashboard;
  const path = '/m/:merchantId/:environment/refunds/:refundId';

  const read = async (request: FastifyRequest): Promise<Refund> => {
    const name = { case: 'refundId' as const, value: refundIdOf(request) };
    const { refund } = await clients.refunds.getRefund({ ...scopeOf(request), name }, callOptions(request));
    if (refund === undefined) throw notFound('REFUND_NOT_FOUND');
    return refund;
  };

  app.get(path, async (request, reply) => {
    const writing = refundWriting(request, timeZone);
    const pageMerchant = pageMerchantOf(request);
    const { merchantId, role } = pageMerchant;
    const [refund, team] = await Promise.all([
      read(request),
      loadPanel(request, (options) => clients.accounts.listUsers({ merchantId }, options)),
    ]);
    const story = refundStory(refund, team.isThere ? team.value : undefined, writing);
    const isAwaiting = refund.status === RefundStatus.AWAITING_APPROVAL;
    const isOwn = isOwnRefund(refund, request);
    const isAtWallet = refund.status === RefundStatus.SENT || refund.status === RefundStatus.UNKNOWN;
    const words = writing.own.one;
    return sendPage(request, reply, {
      template: 'refunds/refund',
      title: words.title(story.amount),
      area: 'refunds',
      words,
      scripts: isOpenRefund(refund) ? [assets.live.path] : [],
      view: {
        path: refundPath(pageMerchant, refund.refundId),
        list: pathIn(pageMerchant, 'refunds'),
        order: { href: pathIn(pageMerchant, `orders/${refund.orderId}`), number: refund.orderNumber },
        story,
        isOpen: isOpenRefund(refund),
        mayDecide: mayDecide(refund, request),
        mayWithdraw: isAwaiting && isOwn && mayChange(request),
        whoDecides:
          !isAwaiting || mayDecide(refund, request) || role === 'viewer'
            ? undefined
            : isOwn
              ? words.approve.own
              : words.approve.developers,
        mayQuery: isAtWallet && mayChange(request),
        mayRefundAgain: refund.status === RefundStatus.FAILED && mayChange(request),
        longestReason,
      },
    });
  });

  /** Polled by the open page to detect changes. */
  app.get(`${path}/state`, async (request, reply) => {
    const refund = await read(request);
    return reply.send({ state: `${refund.status}-${refund.tries}`, isOver: !isOpenRefund(refund) });
  });

  const keyOf = (request: FastifyRequest) => ({
    merchantId: pageMerchantOf(request).merchantId,
    refundId: refundIdOf(request),
  });

  /** Shows the result of a decision on the refund's page. */
  const decided = (request: FastifyRequest, reply: FastifyReply, answer: Answer<unknown>, done: string) => {
    const { approve, decline } = wordsFor(request, refundWords).one;
    const refusals: Readonly<Record<string, string>> = {
      SECOND_PERSON_NEEDED: approve.samePerson,
      REFUND_NOT_AWAITING_APPROVAL: approve.decided,
      INVALID_FIELDS: decline.wrongReason,
    };
    if (answer.ok) flash(request, { tone: 'good', text: done });
    else {
      const { problem, reason, retryAfterSeconds } = answer.refusal;
      const text = refusals[reason];
      if (text === undefined) throw new PageProblem(problem, reason, { retryAfterSeconds });
      flash(request, { tone: 'warn', text });
    }
    return reply.redirect(refundPath(pageMerchantOf(request), refundIdOf(request)), 303);
  };

  app.post(`${path}/approve`, async (request, reply) => {
    // The refund's environment is the one in the path.
    await read(request);
    const answer = await tryCall(request, (options) =>
      clients.refunds.approveRefund(keyOf(request), options),
    );
    return decided(request, reply, answer, wordsFor(request, refundWords).one.approve.done);
  });

  const decline = async (request: FastifyRequest, reply: FastifyReply, done: string) => {
    const reason = fieldOf(request.body, 'reason').trim().slice(0, longestReason);
    const asked = { ...keyOf(request), reason };
    return decided(
      request,
      reply,
      await tryCall(request, (options) => clients.refunds.declineRefund(asked, options)),
      done,
    );
  };
  app.post(`${path}/decline`, async (request, reply) => {
    await read(request);
    return decline(request, reply, wordsFor(request, refundWords).one.decline.done);
  });
  app.post(`${path}/withdraw`, async (request, reply) => {
    if (!isOwnRefund(await read(request), request)) throw new PageProblem('forbidden', 'NOT_OWN_REFUND');
    return decline(request, reply, wordsFor(request, refundWords).one.withdraw.done);
  });

  app.post(`${path}/query-wallet`, async (request, reply) => {
    await read(request);
    await clients.refunds.hastenRefund(keyOf(request), callOptions(request));
    flash(request, { tone: 'good', text: wordsFor(request, refundWords).one.query.done });
    return reply.redirect(refundPath(pageMerchantOf(request), refundIdOf(request)), 303);
  });
}
