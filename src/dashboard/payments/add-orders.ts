import type { CallOptions } from '@connectrpc/connect';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ListOrdersResponse } from '../../gen/gatehouse/v1/order_service_pb.js';
import { pathIn, pageMerchantOf, scopeOf } from '../access/page-context.ts';
import { tryCall, callOptions, loadPanel } from '../try-call.ts';
import type { Panel } from '../try-call.ts';
import { sendCsv } from '../csv/send-csv.ts';
import type { Dashboard } from '../dashboard.ts';
import { wordsFor } from '../language/words.ts';
import { dayText } from '../local-time.ts';
import { momentOf } from '../moment-text.ts';
import { PageProblem } from '../page-problem.ts';
import { shellWords } from '../send-page.ts';
import { isLess } from './decimal-text.ts';
import { amountProblem } from './amount-problem.ts';
import { orderRow, orderStatuses, orderWords, optionChoices, paymentTypes } from './order-words.ts';
import type { OrderWords } from './order-words.ts';
import { readOrderSearch, searchFieldOf } from './order-search.ts';
import type { OrderSearch } from './order-search.ts';
import { ordersCsv } from './orders-csv.ts';

const pageSize = 50;
const csvPageSize = 500;

type Found = { readonly answer: ListOrdersResponse } | { readonly errors: Readonly<Record<string, string>> };

/** The list and search of a merchant's orders. */
export function addOrders(app: FastifyInstance, dashboard: Dashboard): void {
  const { clients, sendPage, timeZone, now } = dashboard;
  const path = '/m/:merchantId/:environment/orders';

  app.get(path, async (request, reply) => {
    const words = wordsFor(request, orderWords);
    const { language } = request;
    const writing = { words, language, timeZone, wallets: request.wallets };
    const search = readOrderSearch(request.query, timeZone);
    const self = pathIn(pageMerchantOf(request), 'orders');
    const found = await searchOrders(clients, request, search);
    const errors = found.isThere && 'errors' in found.value ? found.value.errors : {};
    const answer = found.isThere && 'answer' in found.value ? found.value.answer : undefined;
    reply.code(Object.keys(errors).length > 0 ? 400 : 200);
    return sendPage(request, reply, {
      template: 'payments/orders',
      title: words.title,
      area: 'orders',
      words,
      view: {
        path: self,
        search,
        errors,
        isThere: found.isThere,
        orders:
          answer?.orders.map((order) => orderRow(order, answer.payerPhones[order.orderId], writing, now())) ??
          [],
        older: answer?.nextPageToken ? `${self}${search.query(answer.nextPageToken)}` : undefined,
        newest: search.pageToken === '' ? undefined : `${self}${search.query()}`,
        searchedTo:
          answer === undefined || answer.orders.length >= pageSize
            ? undefined
            : momentOf(answer.searchedBackTo, language, timeZone),
        csv: `${self}.csv${search.query()}`,
        choices: {
          status: choices(orderStatuses, words.statuses),
          option: optionChoices(writing),
          type: choices(paymentTypes, words.types),
        },
      },
    });
  });

  app.get(`${path}.csv`, async (request, reply) => {
    const search = readOrderSearch(request.query, timeZone);
    if (search.wrongDays.length > 0) throw new PageProblem('badRequest', 'INVALID_FIELDS');
    const conditions = await conditionsOf(clients, request, search);
    const read = (pageToken: string, options: CallOptions): Promise<ListOrdersResponse> =>
      clients.orders.listOrders(
        { ...scopeOf(request), ...conditions, pageSize: csvPageSize, pageToken },
        options,
      );
    const first = await read('', callOptions(request));
    const name = `orders-${pageMerchantOf(request).environment}-${dayText(now(), timeZone)}.csv`;
    const { start, lines } = ordersCsv(timeZone);
    return sendCsv(request, reply, { name, start, first, lines, read });
  });
}

type SearchClients = Pick<Dashboard['clients'], 'orders' | 'merchants'>;

const currenciesOf = async ({ merchants }: SearchClients, request: FastifyRequest) => {
  const { merchantId } = pageMerchantOf(request);
  return (await merchants.getMerchant({ merchantId }, callOptions(request))).currencies;
};

/** The fields of the ListOrders request. An amount without a currency is one in the merchant's first currency. */
async function conditionsOf(
  clients: SearchClients,
  request: FastifyRequest,
  { conditions, lacksCurrency }: OrderSearch,
): Promise<OrderSearch['conditions']> {
  if (!lacksCurrency) return conditions;
  const [currency = ''] = await currenciesOf(clients, request);
  return { ...conditions, currency };
}

/** A page of orders, or the problems of the search. */
function searchOrders(
  clients: SearchClients,
  request: FastifyRequest,
  search: OrderSearch,
): Promise<Panel<Found>> {
  const words = wordsFor(request, orderWords);
  const isWrong = search.wrongDays.length > 0;
  const wrongDays = Object.fromEntries(search.wrongDays.map((name) => [name, words.search.wrongDay]));
  return loadPanel(request, async (): Promise<Found> => {
    const conditions = await conditionsOf(clients, request, search);
    // One answer marks all fields that are wrong, so core checks the other ones of a search that cannot run.
    const page = { pageSize: isWrong ? 1 : pageSize, pageToken: search.pageToken };
    const asked = { ...scopeOf(request), ...conditions, ...page };
    const found = await tryCall(request, (options) => clients.orders.listOrders(asked, options));
    if (found.ok) return isWrong ? { errors: wrongDays } : { answer: found.value };
    const refused = errorsOf(found.refusal.fields, search, shellWords[request.language].forms, words);
    const errors = { ...refused, ...wrongDays };
    if (errors['currency'] === undefined) return { errors };
    const currencies = (await currenciesOf(clients, request)).join(', ');
    return { errors: { ...errors, currency: words.search.wrongCurrency(currencies) } };
  });
}

/** An invalid page token is a problem of the whole page, not of a field. */
function errorsOf(
  refused: readonly { readonly field: string }[],
  { values }: OrderSearch,
  forms: (typeof shellWords)['en']['forms'],
  words: OrderWords,
): Readonly<Record<string, string>> {
  const named = refused.flatMap(({ field }) => searchFieldOf[field] ?? []);
  if (named.length === 0) throw new PageProblem('badRequest', 'INVALID_FIELDS');
  const problem = (name: (typeof named)[number]): string => {
    // The days are valid, so core refused their order.
    if (name === 'to' || name === 'paid_to') return forms.emptySpan;
    if (name === 'amount_to' && isLess(values.amount_to, values.amount_from))
      return words.search.wrongAmounts;
    return name === 'amount_from' || name === 'amount_to'
      ? amountProblem(values[name], words.amountProblems)
      : forms.malformed;
  };
  return Object.fromEntries(named.map((name) => [name, problem(name)]));
}

export const choices = <Name extends string>(
  table: Readonly<Record<Name, unknown>>,
  words: Readonly<Record<Name, string>>,
) => (Object.keys(table) as Name[]).map((value) => ({ value, text: words[value] }));
