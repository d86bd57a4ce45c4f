import type { FastifyInstance } from 'fastify';

/** Several times what the longest form comes to. */
const bodyLimitBytes = 4 * 1024;

/** Makes the bodies of requests what the pages' forms send, and no other. */
export function addFormParser(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: bodyLimitBytes },
    (_request, body, done) => done(null, new URLSearchParams(String(body))),
  );
}

/** A field of a form as the customer left it; '' when there is none. */
export function formField(body: unknown, name: string): string {
  return body instanceof URLSearchParams ? (body.get(name) ?? '').trim() : '';
}
