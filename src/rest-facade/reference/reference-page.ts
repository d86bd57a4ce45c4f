import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { readAsset, serveAssets } from '../../platform/http/assets.ts';
import { readTemplates } from '../../platform/http/templates.ts';
import { describeDocument } from './describe-document.ts';
import { addOpenApiDocument } from './openapi-document.ts';
import type { PublicUrls } from './openapi-document.ts';
import { paragraphsOf } from './prose.ts';

/** The former address of the page that sends requests. */
const formerTryPath = '/docs/try';

/** The page loads its own style. In the sandbox, its script sends requests to its own listener, and to no other. */
const policies = {
  production: "style-src 'self'",
  sandbox: "style-src 'self'; script-src 'self'; connect-src 'self'",
} as const;

/**
 * Serves the OpenAPI document of the routes registered after it at /openapi.json, and a page to read it at /docs. The page of
 * the sandbox sends requests with the reader's test key. The page of production sends none, because a live key must not be
 * entered in a browser.
 */
export async function addReference(
  app: FastifyInstance,
  urls: () => PublicUrls,
  environment: keyof PublicUrls,
): Promise<void> {
  const asset = (name: string) => readAsset(join(import.meta.dirname, 'assets', name));
  const [style, script] = await Promise.all([asset('reference.css'), asset('reference.js')]);
  // Before the document, which describes the routes after it.
  serveAssets(app, environment === 'sandbox' ? [style, script] : [style]);
  const readDocument = await addOpenApiDocument(app, urls, environment);
  const policy = `default-src 'none'; ${policies[environment]}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;
  // Anyone may ask for the page, and Node would encode a text again for each answer.
  let page: Buffer | undefined;
  const templates = readTemplates(join(import.meta.dirname, 'templates'));
  const renderPage = (): string =>
    templates.render('/reference', {
      view: describeDocument(readDocument()),
      environment,
      style: style.path,
      script: script.path,
      paragraphsOf,
    });
  const hidden = { schema: { hide: true } };
  app.get('/docs', hidden, (_request, reply) =>
    reply
      .header('content-security-policy', policy)
      .type('text/html; charset=utf-8')
      .send((page ??= Buffer.from(renderPage()))),
  );
  app.get('/docs/', hidden, (_request, reply) => reply.redirect('/docs', 308));
  if (environment === 'sandbox')
    app.get(formerTryPath, hidden, (_request, reply) => reply.redirect('/docs', 308));
}
