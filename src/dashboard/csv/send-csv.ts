import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** Answers with a CSV file. HEAD gets its headers, and reads no pages, because Fastify would read and discard all of them. */
export const sendCsv = (
  request: FastifyRequest,
  reply: FastifyReply,
  name: string,
  pages: AsyncIterable<string>,
): FastifyReply =>
  reply
    .header('content-disposition', `attachment; filename="${name}"`)
    .type('text/csv; charset=utf-8')
    .send(Readable.from(request.method === 'HEAD' ? [] : pages));
