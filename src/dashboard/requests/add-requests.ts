import type { FastifyInstance, FastifyRequest } from 'fastify';
import { pathIn, pageMerchantOf, scopeOf } from '../access/page-context.ts';
import { loadPanel } from '../try-call.ts';
import { momentOf } from '../moment-text.ts';
import type { Dashboard } from '../dashboard.ts';
import { requests as amharic } from '../language/amharic/requests.ts';
import { requests as english } from '../language/english/requests.ts';
import { wordsFor } from '../language/words.ts';
import { shellWords } from '../send-page.ts';
import { notFound } from '../page-problem.ts';
import { endpoints, outcomes, readRequestFilter } from './request-filter.ts';
import { requestRow, requestStory } from './request-views.ts';
import type { Writing } from './request-views.ts';
import { numberFormat } from '../../platform/language/formats.ts';

const dictionary = { en: english, am: amharic };
const pageSize = 50;

/** The pages on which developers see their requests to the merchant API, and why a request was refused. */
export function addRequests(app: FastifyInstance, dashboard: Dashboard): void {
  const { clients, sendPage, timeZone } = dashboard;
  const path = '/m/:merchantId/:environment/requests';
  const writingOf = (request: FastifyRequest): Writing => ({
    words: wordsFor(request, dictionary),
    language: request.language,
    timeZone,
  });

  app.get(path, async (request, reply) => {
    const writing = writingOf(request);
    const { words } = writing;
    const filter = readRequestFilter(request.query, timeZone);
    const problem = filter.isEmptySpan ? shellWords[request.language].forms.emptySpan : undefined;
    const log = await loadPanel(request, async (options) => {
      if (problem !== undefined)
        return { rows: [], older: undefined, searchedTo: undefined, unkept: undefined };
      const asked = { ...scopeOf(request), ...filter.conditions, pageSize };
      const answer = await clients.requestLog.listApiRequests(asked, options);
      const unkept = numberFormat(request.language).format(answer.unkept);
      return {
        rows: answer.requests.map((each) => requestRow(each, writing)),
        older: filter.withPage(answer.nextPageToken),
        searchedTo:
          answer.requests.length >= pageSize
            ? undefined
            : momentOf(answer.searchedBackTo, request.language, timeZone),
        unkept: answer.unkept === 0n ? undefined : words.unkept(unkept),
      };
    });
    reply.code(problem === undefined ? 200 : 400);
    return sendPage(request, reply, {
      template: 'requests/list',
      title: words.title,
      area: 'requests',
      words,
      view: {
        path: pathIn(pageMerchantOf(request), 'requests'),
        log,
        filter,
        problem,
        outcomes: Object.keys(outcomes).map((value) => ({
          value,
          text: words.outcomes[value as keyof typeof outcomes],
        })),
        endpoints: Object.keys(endpoints).map((value) => ({
          value,
          text: words.endpoints[value as keyof typeof endpoints],
        })),
      },
    });
  });

  app.get(`${path}/:apiRequestId`, async (request, reply) => {
    const writing = writingOf(request);
    const { words } = writing;
    const { apiRequestId } = request.params as { readonly apiRequestId: string };
    if (!/^req_[0-9a-z]{26}$/.test(apiRequestId)) throw notFound('NO_REQUEST_ID');
    const story = await loadPanel(request, async (options) => {
      const asked = { ...scopeOf(request), apiRequestId };
      const { request: found } = await clients.requestLog.getApiRequest(asked, options);
      if (found === undefined) throw notFound('API_REQUEST_NOT_FOUND');
      return requestStory(found, writing);
    });
    return sendPage(request, reply, {
      template: 'requests/request',
      title: words.request.title,
      area: 'requests',
      words,
      view: { path: pathIn(pageMerchantOf(request), 'requests'), story },
    });
  });
}
