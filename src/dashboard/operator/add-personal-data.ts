import { Type } from '@sinclair/typebox';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ErasureObstacle } from '../../gen/gatehouse/v1/personal_data_service_pb.js';
import type { ErasureRequest } from '../../gen/gatehouse/v1/personal_data_service_pb.js';
import { tryCall, loadPanel } from '../try-call.ts';
import type { Answer } from '../try-call.ts';
import type { Dashboard } from '../dashboard.ts';
import { emptyForm, fieldOf, readForm } from '../forms/read-form.ts';
import type { FormState } from '../forms/read-form.ts';
import { personalData as amharic } from '../language/amharic/personal-data.ts';
import { personalData as english } from '../language/english/personal-data.ts';
import { wordsFor } from '../language/words.ts';
import { momentOf } from '../moment-text.ts';
import { failureOfRpc } from '../rpc-failure.ts';
import type { RpcFailure } from '../rpc-failure.ts';
import { shellWords } from '../send-page.ts';
import { flash } from '../session/sign-in-state.ts';
import { merchantNames } from './merchant-names.ts';
import { writingFor } from './operator-writing.ts';
import { pageQuery, textIn } from '../page-query.ts';

const dictionary = { en: english, am: amharic };
type Words = typeof english;

const path = '/operator/personal-data';
const pageSize = 20;

/** The names of the fields say that no session keeps them: see `carriedFormOf`. */
const Erasure = Type.Object({
  erased_phone: Type.String({ maxLength: 32 }),
  erased_merchant_id: Type.Optional(Type.String({ pattern: '^mer_[0-9a-z]{26}$' })),
});

/** The page on which operators erase the data of a customer who asks for it, and see what is not erased yet. */
export function addPersonalData(app: FastifyInstance, dashboard: Dashboard): void {
  const { clients, sendPage, timeZone } = dashboard;

  const show = async (
    request: FastifyRequest,
    reply: FastifyReply,
    form: FormState = emptyForm(),
    status = 200,
  ): Promise<FastifyReply> => {
    const words = wordsFor(request, dictionary);
    const { language } = request;
    const pageToken = textIn(request.query, 'page');
    const requests = await loadPanel(request, async (options) => {
      const asked = { pageSize, pageToken };
      const { erasureRequests, nextPageToken } = await clients.personalData.listErasureRequests(
        asked,
        options,
      );
      const names = await merchantNames(
        request,
        clients,
        erasureRequests.filter(({ merchantId }) => merchantId !== ''),
      );
      return {
        rows: erasureRequests.map((each) => ({
          ...requestRow(each, words),
          when: momentOf(each.createTime, language, timeZone),
          merchant:
            each.merchantId === '' ? words.allMerchants : (names.get(each.merchantId) ?? each.merchantId),
        })),
        older: pageQuery({}, nextPageToken),
      };
    });
    reply.code(status);
    return sendPage(request, reply, {
      template: 'operator/personal-data',
      title: words.title,
      area: 'operatorPersonalData',
      words,
      self: path,
      view: {
        path,
        form,
        requests,
        isLaterPage: pageToken !== '',
        paging: writingFor(request, timeZone).words,
      },
    });
  };

  const readErasure = (request: FastifyRequest) => {
    const { form: words } = wordsFor(request, dictionary);
    return readForm(Erasure, request.body, shellWords[request.language].forms, {
      erased_phone: words.wrongPhone,
      erased_merchant_id: words.wrongMerchant,
    });
  };
  /** Counts, or erases. Core judges the number and the merchant. */
  const erase = async (
    request: FastifyRequest,
    { erased_phone: phone, erased_merchant_id: merchantId = '' }: ErasureValues,
    validateOnly: boolean,
  ): Promise<Answer<ErasureRequest | undefined>> => {
    try {
      const answer = await tryCall(request, (options) =>
        clients.personalData.erasePersonalData({ phone, merchantId, validateOnly }, options),
      );
      return answer.ok ? { ok: true, value: answer.value.erasureRequest } : answer;
    } catch (thrown) {
      const refusal = failureOfRpc(thrown);
      if (refusal?.reason !== 'MERCHANT_NOT_FOUND') throw thrown;
      return { ok: false, refusal };
    }
  };
  const showRefused = (
    request: FastifyRequest,
    reply: FastifyReply,
    form: FormState,
    { reason }: RpcFailure,
  ): Promise<FastifyReply> => {
    const { form: words } = wordsFor(request, dictionary);
    const errors =
      reason === 'MERCHANT_NOT_FOUND'
        ? { erased_merchant_id: words.unknownMerchant }
        : { erased_phone: words.wrongPhone };
    return show(request, reply, { ...form, errors }, 400);
  };

  app.get(path, (request, reply) => show(request, reply));

  app.post(`${path}/check`, async (request, reply) => {
    const words = wordsFor(request, dictionary);
    const form = readErasure(request);
    // The user pressed Back on the page that asks for confirmation.
    if (fieldOf(request.body, 'edit') !== '') return show(request, reply, { ...form, errors: {} });
    if (!form.ok) return show(request, reply, form, 400);
    const answer = await erase(request, form.value, true);
    if (!answer.ok) return showRefused(request, reply, form, answer.refusal);
    const { erased_phone: phone, erased_merchant_id: merchantId = '' } = form.value;
    const names = await merchantNames(request, clients, merchantId === '' ? [] : [{ merchantId }]);
    const { orderCount = 0n, payerPaymentCount = 0n } = answer.value ?? {};
    return sendPage(request, reply, {
      template: 'operator/personal-data-confirm',
      title: words.confirm.title,
      area: 'operatorPersonalData',
      words: words.confirm,
      self: path,
      view: {
        path,
        isNothing: orderCount + payerPaymentCount === 0n,
        values: form.values,
        facts: [
          [words.confirm.phone, phone],
          [
            words.confirm.merchant,
            merchantId === '' ? words.allMerchants : (names.get(merchantId) ?? merchantId),
          ],
          [words.confirm.orders, String(orderCount)],
          [words.confirm.payments, String(payerPaymentCount)],
        ],
      },
    });
  });

  app.post(path, async (request, reply) => {
    const words = wordsFor(request, dictionary);
    const form = readErasure(request);
    if (!form.ok) return show(request, reply, form, 400);
    const answer = await erase(request, form.value, false);
    if (!answer.ok) return showRefused(request, reply, form, answer.refusal);
    const { orderCount = 0n, payerPaymentCount = 0n } = answer.value ?? {};
    flash(request, { tone: 'good', text: words.done(Number(orderCount), Number(payerPaymentCount)) });
    return reply.redirect(path, 303);
  });
}

type ErasureValues = { readonly erased_phone: string; readonly erased_merchant_id?: string };

function requestRow(request: ErasureRequest, words: Words) {
  const { requests } = words;
  const { waiting, waitingCount, waitingPayerPaymentCount } = request;
  const payments = Number(waitingPayerPaymentCount);
  const more = Number(waitingCount) - waiting.length;
  return {
    id: request.erasureRequestId,
    by: request.requestedByEmail || request.requestedBy,
    merchantId: request.merchantId,
    found: requests.found(Number(request.orderCount), Number(request.payerPaymentCount)),
    waiting: waiting.map(({ orderId, obstacle }) => ({
      orderId,
      why: obstacleText(obstacle, words),
    })),
    more: more > 0 ? requests.more(more) : '',
    payments: payments > 0 ? requests.payments(payments) : '',
  };
}

function obstacleText(obstacle: ErasureObstacle, { obstacles }: Words): string {
  switch (obstacle) {
    case ErasureObstacle.ORDER_OPEN:
      return obstacles.orderOpen;
    case ErasureObstacle.PAYMENT_OPEN:
      return obstacles.paymentOpen;
    case ErasureObstacle.REFUND_OPEN:
      return obstacles.refundOpen;
    case ErasureObstacle.STRAY_PAYMENT_OPEN:
      return obstacles.strayOpen;
    case ErasureObstacle.SETTLEMENT_OPEN:
      return obstacles.settlementOpen;
    case ErasureObstacle.NOT_SEALED:
      return obstacles.notSealed;
    case ErasureObstacle.EVENT_CHANGED:
      return obstacles.eventChanged;
    case ErasureObstacle.BROKER_UNAVAILABLE:
      return obstacles.brokerUnavailable;
    case ErasureObstacle.FAILED:
      return obstacles.failed;
    case ErasureObstacle.LATE_COPIES:
      return obstacles.lateCopies;
    case ErasureObstacle.UNSPECIFIED:
      return obstacles.notTried;
  }
}
