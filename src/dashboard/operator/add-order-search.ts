import type { FastifyInstance } from 'fastify';
import type { FindOrdersResponse } from '../../gen/gatehouse/v1/order_service_pb.js';
import { tryCall, loadPanel } from '../try-call.ts';
import type { Dashboard } from '../dashboard.ts';
import { wordsFor } from '../language/words.ts';
import { PageProblem } from '../page-problem.ts';
import { orderRow, orderWords } from '../payments/order-words.ts';
import { merchantNames } from './merchant-names.ts';
import { environmentName, writingFor } from './operator-writing.ts';
import { pageQuery, textIn } from '../page-query.ts';

const path = '/operator/orders';
const pageSize = 50;

/** The page on which operators find an order by a number or phone that a customer or merchant reports. */
export function addOrderSearch(app: FastifyInstance, { clients, sendPage, timeZone, now }: Dashboard): void {
  app.get(path, async (request, reply) => {
    const writing = writingFor(request, timeZone);
    const words = writing.words.orderSearch;
    const text = textIn(request.query, 'text');
    const pageToken = textIn(request.query, 'page');
    const rowsOf = async ({ orders, providerTransactionIds, payerPhones }: FindOrdersResponse) => {
      const names = await merchantNames(request, clients, orders);
      return orders.map((order) => {
        const environment = environmentName(order.environment);
        return {
          ...orderRow(
            order,
            payerPhones[order.orderId],
            { ...writing, words: wordsFor(request, orderWords) },
            now(),
          ),
          href: `/m/${order.merchantId}/${environment}/orders/${order.orderId}`,
          merchant: names.get(order.merchantId) ?? order.merchantId,
          environment: { name: environment, text: writing.words.environments[environment] },
          transaction: providerTransactionIds[order.orderId] ?? '',
        };
      });
    };
    const isSearch = text !== '' || pageToken !== '';
    const found = await loadPanel(request, async () => {
      if (!isSearch) return { error: '', rows: [], older: undefined };
      const answer = await tryCall(request, (options) =>
        clients.orders.findOrders({ text, pageSize, pageToken }, options),
      );
      if (answer.ok) {
        const older = pageQuery({ text }, answer.value.nextPageToken);
        return { error: '', rows: await rowsOf(answer.value), older };
      }
      const isOfText = answer.refusal.fields.some(({ field }) => field === 'text');
      if (!isOfText) throw new PageProblem('badRequest', 'INVALID_FIELDS');
      return { error: words.wrong, rows: [], older: undefined };
    });
    reply.code(found.isThere && found.value.error !== '' ? 400 : 200);
    return sendPage(request, reply, {
      template: 'operator/orders',
      title: words.title,
      area: 'operatorOrders',
      words: writing.words,
      view: {
        path,
        text,
        isSearch,
        isLaterPage: pageToken !== '',
        newest: `${path}?${new URLSearchParams({ text }).toString()}`,
        found,
        orderWords: wordsFor(request, orderWords),
      },
    });
  });
}
