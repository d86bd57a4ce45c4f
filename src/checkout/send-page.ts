import type { FastifyReply, FastifyRequest } from 'fastify';
import type { PageView } from './page-views.ts';
import type { RenderPage } from './render.ts';

/** Answers with a page. `path` is the page's address, if it has one. */
export type SendPage = (
  request: FastifyRequest,
  reply: FastifyReply,
  page: PageView,
  path?: string,
) => FastifyReply;

/** `prefix` is called for each page, because the public URL is known only after the listener has started. */
export function createSendPage(render: RenderPage, prefix: () => string): SendPage {
  return (request, reply, page, path = '') => {
    const { language } = request;
    return reply
      .header('content-language', language)
      .header('vary', 'accept-language, cookie')
      .type('text/html; charset=utf-8')
      .send(render(page, { language, prefix: prefix(), path, isAnswer: request.method === 'POST' }));
  };
}
