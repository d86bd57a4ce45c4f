import type { FastifyInstance } from 'fastify';

/** Several times the size of the longest form. */
const bodyLimitBytes = 4 * 1024;

/** Accepts only bodies in the format of the pages' forms. */
export function addFormParser(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: bodyLimitBytes },
    (_request, body, done) => done(null, new URLSearchParams(String(body))),
  );
}

/** The value of a form field; '' when it is missing. */
export function formField(body: unknown, name: string): string {
  return body instanceof URLSearchParams ? (body.get(name) ?? '').trim() : '';
}
