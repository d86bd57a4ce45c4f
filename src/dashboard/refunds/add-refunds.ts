import type { CallOptions } from '@connectrpc/connect';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ListRefundsResponse } from '../../gen/gatehouse/v1/refund_service_pb.js';
import { shellWords } from '../send-page.ts';
import { mayChange, pageMerchantOf, pathIn, scopeOf } from '../access/page-context.ts';
import { callOptions, loadPanel } from '../try-call.ts';
import { sendCsv } from '../csv/send-csv.ts';
import type { Dashboard } from '../dashboard.ts';
import { dayText } from '../local-time.ts';
import { PageProblem } from '../page-problem.ts';
import { failureOfRpc } from '../rpc-failure.ts';
import { choices } from '../payments/add-orders.ts';
import { refundStates } from '../payments/refund-states.ts';
import { readRefundSearch } from './refund-search.ts';
import type { RefundSearch } from './refund-search.ts';
import { refundRow, refundWriting } from './refund-writing.ts';
import { refundsCsv } from './refunds-csv.ts';

const pageSize = 50;
const csvPageSize = 500;

type Read = (pageToken: string, options: CallOptions) => Promise<ListRefundsResponse>;

/** The list of a merchant's refunds in an environment, and its download. */
export function addRefunds(app: FastifyInstance, { clients, sendPage, timeZone, now }: Dashboard): void {
  const path = '/m/:merchantId/:environment/refunds';

  /** The id of the searched order; '' without one, undefined when the merchant has no such order. */
  const orderIdOf = async (
    request: FastifyRequest,
    { values }: RefundSearch,
    options: CallOptions,
  ): Promise<string | undefined> => {
    if (values.order === '') return '';
    try {
      const key = { case: 'orderNumber' as const, value: values.order };
      const { order } = await clients.orders.getOrder({ ...scopeOf(request), key }, options);
      return order?.orderId;
    } catch (thrown) {
      if (failureOfRpc(thrown)?.reason === 'ORDER_NOT_FOUND') return undefined;
      throw thrown;
    }
  };

  /** Reads the pages of a search; undefined when the searched order does not exist. */
  const reader = async (
    request: FastifyRequest,
    search: RefundSearch,
    size: number,
  ): Promise<Read | undefined> => {
    const orderId = await orderIdOf(request, search, callOptions(request));
    if (orderId === undefined) return undefined;
    return (pageToken, options) =>
      clients.refunds.listRefunds(
        { ...scopeOf(request), ...search.conditions, orderId, pageSize: size, pageToken },
        options,
      );
  };

  app.get(path, async (request, reply) => {
    const writing = refundWriting(request, timeZone);
    const { own } = writing;
    const search = readRefundSearch(request.query, timeZone);
    const pageMerchant = pageMerchantOf(request);
    const self = pathIn(pageMerchant, 'refunds');
    const isWrong = search.wrong.length > 0;
    const found = isWrong
      ? { isThere: true as const, value: undefined }
      : await loadPanel(request, async (options) => {
          const read = await reader(request, search, pageSize);
          return read?.(search.pageToken, options);
        });
    const answer = found.isThere ? found.value : undefined;
    reply.code(isWrong ? 400 : 200);
    return sendPage(request, reply, {
      template: 'refunds/list',
      title: own.title,
      area: 'refunds',
      words: own,
      view: {
        path: self,
        search,
        errors: Object.fromEntries(
          search.wrong.map(([name, problem]) => [
            name,
            problem === 'emptySpan' ? shellWords[request.language].forms.emptySpan : own.search[problem],
          ]),
        ),
        isThere: found.isThere,
        isWrong,
        refunds: answer?.refunds.map((refund) => refundRow(refund, pageMerchant, writing)) ?? [],
        older: answer?.nextPageToken ? `${self}${search.query(answer.nextPageToken)}` : undefined,
        newest: search.pageToken === '' ? undefined : `${self}${search.query()}`,
        strays: pathIn(pageMerchant, 'stray-payments'),
        csv: `${self}.csv${search.query()}`,
        states: choices(refundStates, own.states),
        mayRefund: mayChange(request),
      },
    });
  });

  app.get(`${path}.csv`, async (request, reply) => {
    const search = readRefundSearch(request.query, timeZone);
    if (search.wrong.length > 0) throw new PageProblem('badRequest', 'INVALID_FIELDS');
    const reads = await reader(request, search, csvPageSize);
    const read = async (pageToken: string, options: CallOptions) =>
      (await reads?.(pageToken, options)) ?? { refunds: [], nextPageToken: '' };
    const first = await read('', callOptions(request));
    const { start, lines } = refundsCsv(timeZone);
    const name = `refunds-${pageMerchantOf(request).environment}-${dayText(now(), timeZone)}.csv`;
    return sendCsv(request, reply, { name, start, first, lines, read });
  });
}
