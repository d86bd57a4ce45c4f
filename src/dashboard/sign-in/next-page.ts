import type { FastifyRequest } from 'fastify';

/** The page after a confirmed identity: the kept form, or the requested page. */
export function takeNextPage(request: FastifyRequest): string {
  const { data } = request.session;
  if (data === undefined) return '/';
  const { next = '/' } = data;
  delete data.next;
  return data.carried === undefined ? next : '/carry-on';
}
