import { Readable } from 'node:stream';
import type { CallOptions } from '@connectrpc/connect';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { callOptions } from '../try-call.ts';

/** A page of a list of core. */
interface ListPage {
  readonly nextPageToken: string;
}

export interface CsvDownload<Page extends ListPage> {
  readonly name: string;
  /** The lines before the first page. */
  readonly start: string;
  /** Read before the answer begins, so that an invalid search or an unavailable core gets an error page. */
  readonly first: Page;
  readonly lines: (page: Page) => string;
  readonly read: (pageToken: string, options: CallOptions) => Promise<Page>;
}

/**
 * Answers with a CSV file. Each page is read after the browser has received the one before, and none after the browser has left or the user
 * has lost access. A failure aborts the download. HEAD gets the headers, and reads no pages, because Fastify would read and discard
 * all of them.
 */
export function sendCsv<Page extends ListPage>(
  request: FastifyRequest,
  reply: FastifyReply,
  download: CsvDownload<Page>,
): FastifyReply {
  const left = new AbortController();
  // A search without matches yields nothing for long, and the stream notices the end of its reader only when it gets something.
  reply.raw.once('close', () => left.abort());
  return reply
    .header('content-disposition', `attachment; filename="${download.name}"`)
    .type('text/csv; charset=utf-8')
    .send(Readable.from(request.method === 'HEAD' ? [] : pagesOf(request, download, left.signal)));
}

async function* pagesOf<Page extends ListPage>(
  request: FastifyRequest,
  { start, first, lines, read }: CsvDownload<Page>,
  left: AbortSignal,
): AsyncGenerator<string> {
  yield start;
  let page = first;
  for (;;) {
    const text = lines(page);
    if (text !== '') yield text;
    if (page.nextPageToken === '' || left.aborted) return;
    await request.recheckAccess();
    page = await read(page.nextPageToken, { ...callOptions(request), signal: left });
  }
}
