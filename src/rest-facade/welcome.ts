import { hash } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import Negotiator from 'negotiator';

const style = `body { font: 1rem/1.5 system-ui, sans-serif; max-width: 40rem; margin: 2rem auto; padding: 0 1rem; color: #1a1a1a;
background: #fff; overflow-wrap: anywhere; } a { color: #0645ad; }
@media (prefers-color-scheme: dark) { body { color: #eee; background: #111; } a { color: #8ab4f8; } }`;

const policy = `default-src 'none'; style-src 'sha256-${hash('sha256', style, 'base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

const texts = {
  production: 'This is production: live keys, real money.',
  sandbox: 'This is the sandbox: test keys, no real money.',
} as const;

/** GET / for people and programs that open the address: its purpose, and where the contract is. No key is needed. */
export function addWelcome(app: FastifyInstance, environment: 'production' | 'sandbox'): void {
  const facts = {
    name: 'Gatehouse merchant API',
    environment,
    message: `${texts[environment]} Send POST requests with your API key in the header apiKey.`,
    reference: '/docs',
    openapi: '/openapi.json',
  };
  const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Gatehouse merchant API, ${environment}</title>
<style>${style}</style>
</head>
<body>
<main>
<h1>Gatehouse merchant API</h1>
<p>${texts[environment]}</p>
<p>Servers of merchants send <code>POST</code> requests to this address, with an API key in the header <code>apiKey</code>.</p>
<ul>
<li><a href="/docs">Reference of all endpoints</a>${environment === 'sandbox' ? ', which sends requests with your test key' : ''}</li>
<li><a href="/openapi.json">The same as an OpenAPI document, for programs</a></li>
</ul>
</main>
</body>
</html>
`;
  app.get('/', { schema: { hide: true } }, (request, reply) => {
    reply.header('vary', 'accept');
    const isPage = new Negotiator(request.raw).mediaType(['application/json', 'text/html']) === 'text/html';
    if (!isPage) return reply.send(facts);
    return reply.header('content-security-policy', policy).type('text/html; charset=utf-8').send(page);
  });
}
