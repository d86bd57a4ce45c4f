import { Type } from '@sinclair/typebox';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Settlement, Unsettled } from '../../gen/gatehouse/v1/settlement_service_pb.js';
import { isPublicId, noMerchantId } from '../../contract/public-id.ts';
import { signedInUserOf } from '../access/page-context.ts';
import { tryCall, loadPanel } from '../try-call.ts';
import type { Answer } from '../try-call.ts';
import type { Dashboard } from '../dashboard.ts';
import { fieldOf, readForm } from '../forms/read-form.ts';
import type { FormState } from '../forms/read-form.ts';
import { wordsFor } from '../language/words.ts';
import { notFound } from '../page-problem.ts';
import type { RpcFailure } from '../rpc-failure.ts';
import { shellWords } from '../send-page.ts';
import { flash } from '../session/sign-in-state.ts';
import { merchantNames } from './merchant-names.ts';
import { numberText, writingFor } from './operator-writing.ts';
import { pageQuery, textIn } from '../page-query.ts';
import {
  outcomeNumbers,
  settlementRow,
  settlementWords,
  subjectKinds,
  unsettledRow,
} from './settlement-views.ts';
import type { Words } from './settlement-views.ts';

const path = '/operator/settlements';
/** The sizes of a page of each list. */
const waitingPerPage = 50;
const decidedPerPage = 20;

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

/** A proposal that was not stored: why, and its mistakes by field. */
interface Failed extends FormState {
  readonly problem: string;
}

const shownFields = ['outcome', 'reason', 'provider_reference'] as const;

/** The problem of a proposal whose subject has no form any more, so that it cannot be corrected. */
const problemWithoutForm = ({ errors, problem }: Failed, { otherRefusal }: Words): string =>
  Object.keys(errors).length > 0 ? otherRefusal : problem;

/** The page on which two operators settle money that a wallet does not decide. */
export function addSettlements(app: FastifyInstance, { clients, sendPage, timeZone, now }: Dashboard): void {
  const show = async (request: FastifyRequest, reply: FastifyReply, failed?: Failed) => {
    const writing = writingFor(request, timeZone);
    const words = wordsFor(request, settlementWords);
    const { userId } = signedInUserOf(request);
    const operators = await loadPanel(
      request,
      async (options) => (await clients.accounts.listUsers({}, options)).users,
    );
    const waitingToken = failed?.values['page'] ?? textIn(request.query, 'page');
    const decidedToken = textIn(request.query, 'decided');
    const own = { ...writing, own: words, users: operators.isThere ? operators.value : [], now: now() };
    const [waiting, decided] = await Promise.all([
      loadPanel(request, async (options) => {
        const page = { pageSize: waitingPerPage, pageToken: waitingToken };
        const answer = await clients.settlements.listUnsettled(page, options);
        const names = await merchantNames(request, clients, answer.unsettled);
        return {
          total: answer.totalCount === 0n ? undefined : words.total(numberText(answer.totalCount, writing)),
          next: pageQuery({}, answer.nextPageToken),
          rows: answer.unsettled.map((each: Unsettled) => ({
            ...unsettledRow(each, userId, own),
            ...(failed?.values['subject_id'] === each.subject.value ? { failed } : {}),
            merchantName:
              each.merchantId === noMerchantId
                ? words.noMerchant
                : (names.get(each.merchantId) ?? each.merchantId),
          })),
        };
      }),
      loadPanel(request, async (options) => {
        const page = { pageSize: decidedPerPage, pageToken: decidedToken };
        const { settlements, nextPageToken } = await clients.settlements.listSettlements(page, options);
        return {
          rows: settlements.map((each: Settlement) => settlementRow(each, own)),
          older:
            nextPageToken === ''
              ? undefined
              : `?${new URLSearchParams({ decided: nextPageToken }).toString()}`,
        };
      }),
    ]);
    const isShown = waiting.isThere && waiting.value.rows.some((row) => 'failed' in row);
    reply.code(failed === undefined ? 200 : 400);
    return sendPage(request, reply, {
      template: 'operator/settlements',
      title: words.title,
      area: 'operatorSettlements',
      words,
      view: {
        path,
        waiting,
        decided,
        page: waitingToken,
        // The subject of a failed proposal may no longer be in the list.
        problem: failed === undefined || isShown ? undefined : problemWithoutForm(failed, words),
      },
    });
  };

  app.get(path, (request, reply) => show(request, reply));

  const refusalText = (request: FastifyRequest, { reason }: RpcFailure): string => {
    const { refusals, otherRefusal } = wordsFor(request, settlementWords);
    return refusals[reason] ?? otherRefusal;
  };
  /** Core also refuses invisible characters, and the transaction of another order. */
  const mistakesOf = (request: FastifyRequest, { fields }: RpcFailure): FormState['errors'] => {
    const { propose } = wordsFor(request, settlementWords);
    const { malformed } = shellWords[request.language].forms;
    const texts = { reason: malformed, provider_reference: propose.wrongReference };
    const wrong = Object.entries(texts).filter(([name]) => fields.some(({ field }) => field === name));
    return Object.fromEntries(wrong);
  };
  const flashResult = (request: FastifyRequest, answer: Answer<unknown>, done: string): void => {
    if (answer.ok) flash(request, { tone: 'good', text: done });
    else flash(request, { tone: 'bad', text: refusalText(request, answer.refusal) });
  };

  app.post(`${path}/propose`, async (request, reply) => {
    const words = wordsFor(request, settlementWords);
    const { forms } = shellWords[request.language];
    const form = readForm(Proposal, request.body, forms);
    const values = { ...form.values, page: fieldOf(request.body, 'page') };
    const fail = (errors: FormState['errors'], otherwise: string) =>
      show(request, reply, {
        values,
        errors,
        problem: shownFields.some((name) => name in errors) ? forms.correct : otherwise,
      });
    if (form.ok) {
      const { merchant_id, kind, subject_id, outcome, reason, provider_reference } = form.value;
      const answer = await tryCall(request, (options) =>
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
      if (answer.ok) {
        flash(request, { tone: 'good', text: words.propose.done });
        return reply.redirect(path, 303);
      }
      return fail(mistakesOf(request, answer.refusal), refusalText(request, answer.refusal));
    }
    return fail(form.errors, words.otherRefusal);
  });

  const keyOf = (request: FastifyRequest) => {
    const { settlementId } = request.params as { readonly settlementId: string };
    if (!isPublicId('stl', settlementId)) throw notFound('SETTLEMENT_NOT_FOUND');
    return { settlementId };
  };
  app.post(`${path}/:settlementId/confirm`, async (request, reply) => {
    const key = keyOf(request);
    const answer = await tryCall(request, (options) => clients.settlements.confirmSettlement(key, options));
    flashResult(request, answer, wordsFor(request, settlementWords).proposal.confirmed);
    return reply.redirect(path, 303);
  });
  app.post(`${path}/:settlementId/withdraw`, async (request, reply) => {
    const key = keyOf(request);
    const answer = await tryCall(request, (options) => clients.settlements.withdrawSettlement(key, options));
    flashResult(request, answer, wordsFor(request, settlementWords).proposal.withdrawn);
    return reply.redirect(path, 303);
  });
}
