import { Type } from '@sinclair/typebox';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Settlement, Unsettled } from '../../gen/gatehouse/v1/settlement_service_pb.js';
import { isPublicId, noMerchantId } from '../../contract/public-id.ts';
import { viewerOf } from '../access/place.ts';
import { ask, panel } from '../ask.ts';
import type { Answer } from '../ask.ts';
import type { Dashboard } from '../dashboard.ts';
import { readForm } from '../forms/read-form.ts';
import { wordsFor } from '../language/words.ts';
import { notFound } from '../page-problem.ts';
import { shellWords } from '../send-page.ts';
import { flash } from '../session/sign-in-state.ts';
import { merchantNames } from './merchant-names.ts';
import { numberText, writingFor } from './operator-writing.ts';
import {
  outcomeNumbers,
  settlementRow,
  settlementWords,
  subjectKinds,
  unsettledRow,
} from './settlement-views.ts';

const path = '/operator/settlements';
/** The longest waiting, and the latest decisions. */
const mostWaiting = 100;
const mostDecided = 20;

const Proposal = Type.Object({
  merchant_id: Type.String({ pattern: '^mer_[0-9a-z]{26}$' }),
  kind: Type.Union([Type.Literal('payment'), Type.Literal('stray'), Type.Literal('refund')]),
  subject_id: Type.String({ pattern: '^(?:pat|stp|rfd)_[0-9a-z]{26}$' }),
  outcome: Type.Union([
    Type.Literal('paid'),
    Type.Literal('notPaid'),
    Type.Literal('returned'),
    Type.Literal('notReturned'),
  ]),
  reason: Type.String({ maxLength: 500 }),
  provider_reference: Type.String({ maxLength: 100 }),
});

/** The page on which two operators settle by hand what a wallet does not decide. */
export function addSettlements(app: FastifyInstance, { clients, sendPage, timeZone, now }: Dashboard): void {
  app.get(path, async (request, reply) => {
    const writing = writingFor(request, timeZone);
    const words = wordsFor(request, settlementWords);
    const { userId } = viewerOf(request);
    const operators = await panel(
      request,
      async (options) => (await clients.accounts.listUsers({}, options)).users,
    );
    const own = { ...writing, own: words, users: operators.isThere ? operators.value : [], now: now() };
    const [waiting, decided] = await Promise.all([
      panel(request, async (options) => {
        const answer = await clients.settlements.listUnsettled({ pageSize: mostWaiting }, options);
        const names = await merchantNames(request, clients, answer.unsettled);
        return {
          total: answer.totalCount === 0n ? undefined : words.total(numberText(answer.totalCount, writing)),
          rows: answer.unsettled.map((each: Unsettled) => ({
            ...unsettledRow(each, userId, own),
            merchantName:
              each.merchantId === noMerchantId
                ? words.noMerchant
                : (names.get(each.merchantId) ?? each.merchantId),
          })),
        };
      }),
      panel(request, async (options) => {
        const { settlements } = await clients.settlements.listSettlements({ pageSize: mostDecided }, options);
        return settlements.map((each: Settlement) => settlementRow(each, own));
      }),
    ]);
    return sendPage(request, reply, {
      template: 'operator/settlements',
      title: words.title,
      area: 'operatorSettlements',
      words,
      view: { path, waiting, decided },
    });
  });

  const result = (request: FastifyRequest, answer: Answer<unknown>, done: string): void => {
    const { refusals, otherRefusal } = wordsFor(request, settlementWords);
    if (answer.ok) flash(request, { tone: 'good', text: done });
    else flash(request, { tone: 'bad', text: refusals[answer.refusal.reason] ?? otherRefusal });
  };

  app.post(`${path}/propose`, async (request, reply) => {
    const words = wordsFor(request, settlementWords);
    const form = readForm(Proposal, request.body, shellWords[request.language].forms);
    if (form.ok) {
      const { merchant_id, kind, subject_id, outcome, reason, provider_reference } = form.value;
      const answer = await ask(request, (options) =>
        clients.settlements.proposeSettlement(
          {
            merchantId: merchant_id,
            subject: { case: subjectKinds[kind].field, value: subject_id },
            outcome: outcomeNumbers[outcome],
            reason,
            providerReference: provider_reference,
          },
          options,
        ),
      );
      result(request, answer, words.propose.done);
    } else flash(request, { tone: 'bad', text: words.propose.incomplete });
    return reply.redirect(path, 303);
  });

  const keyOf = (request: FastifyRequest) => {
    const { settlementId } = request.params as { readonly settlementId: string };
    if (!isPublicId('stl', settlementId)) throw notFound('SETTLEMENT_NOT_FOUND');
    return { settlementId };
  };
  app.post(`${path}/:settlementId/confirm`, async (request, reply) => {
    const key = keyOf(request);
    const answer = await ask(request, (options) => clients.settlements.confirmSettlement(key, options));
    result(request, answer, wordsFor(request, settlementWords).proposal.confirmed);
    return reply.redirect(path, 303);
  });
  app.post(`${path}/:settlementId/withdraw`, async (request, reply) => {
    const key = keyOf(request);
    const answer = await ask(request, (options) => clients.settlements.withdrawSettlement(key, options));
    result(request, answer, wordsFor(request, settlementWords).proposal.withdrawn);
    return reply.redirect(path, 303);
  });
}
