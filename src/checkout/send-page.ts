import type { FastifyReply, FastifyRequest } from 'fastify';
import type { PageView } from './page-views.ts';
import type { RenderPage } from './render.ts';

/** Answers with a page. `path` is the page's address, when it has one of its own. */
export type SendPage = (
  request: FastifyRequest,
  reply: FastifyReply,
  page: PageView,
  path?: string,
) => FastifyReply;

/** `prefix` is asked for at each page: how customers reach this process is known once it listens. */
export function createSendPage(render: RenderPage, prefix: () => string): SendPage {
  return (request, reply, page, path = '') => {
    const { language } = request;
    return reply
      .header('content-language', language)
      .header('vary', 'accept-language, cookie')
      .type('text/html; charset=utf-8')
      .send(render(page, { language, prefix: prefix(), path }));
  };
}
