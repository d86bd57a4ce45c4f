import { join } from 'node:path';
import type { TObject } from '@sinclair/typebox';
import type { FastifyInstance } from 'fastify';
import {
  directBodySchema,
  refundBodySchema,
  registerBodySchema,
  verifyBodySchema,
  verifyRefundBodySchema,
} from '../merchant-api/requests.ts';
import { readAsset, serveAssets } from '../platform/http/assets.ts';
import { directPath } from './direct-endpoint.ts';
import { refundPath } from './refund-endpoint.ts';
import { registerPath } from './register-endpoint.ts';
import { verifyPath } from './verify-endpoint.ts';
import { verifyRefundPath } from './verify-refund-endpoint.ts';

export const tryPath = '/docs/try';

/** The page runs its own script and sends requests to its own listener, and to no other. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const endpoints = [
  { name: 'Register payment order', target: registerPath, schema: registerBodySchema },
  {
    name: 'Initiate direct payment',
    target: `${directPath}?payment_option=walleta_ussd`,
    schema: directBodySchema,
  },
  { name: 'Check payment order status', target: verifyPath, schema: verifyBodySchema },
  { name: 'Refund an order', target: refundPath, schema: refundBodySchema },
  { name: 'Check a refund', target: verifyRefundPath, schema: verifyRefundBodySchema },
];

/** The required fields with the examples of the reference. */
function exampleOf({ properties, required }: TObject): object {
  const isExampled = (schema: unknown): schema is { readonly examples: readonly unknown[] } =>
    typeof schema === 'object' && schema !== null && 'examples' in schema;
  return Object.fromEntries(
    Object.entries<unknown>(properties).flatMap(([name, schema]) =>
      required?.includes(name) === true && isExampled(schema) ? [[name, schema.examples[0]]] : [],
    ),
  );
}

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');

/**
 * A page that sends requests to this sandbox with the reader's own test key. Production has none, because a live key must
 * not be entered in a browser.
 */
export async function addTryPage(app: FastifyInstance): Promise<void> {
  const asset = (name: string) => readAsset(join(import.meta.dirname, 'assets', name));
  const [style, script] = await Promise.all([asset('try.css'), asset('try.js')]);
  serveAssets(app, [style, script]);
  const options = endpoints.map(({ name, target, schema }) => {
    const example = escaped(JSON.stringify(exampleOf(schema)));
    return `<option value="${escaped(target)}" data-example="${example}">${name}: ${escaped(target)}</option>`;
  });
  const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Try the Gatehouse merchant API</title>
<link rel="stylesheet" href="${style.path}">
<script src="${script.path}" defer></script>
</head>
<body>
<main>
<h1>Try the merchant API</h1>
<p>This page sends requests to the sandbox with your test key. No real money moves. The key is not stored.
The <a href="/docs">reference</a> describes all fields.</p>
<noscript><p>This page needs JavaScript. Without it, send the requests with curl.</p></noscript>
<form hidden>
<label for="endpoint">Endpoint</label>
<select id="endpoint">${options.join('\n')}</select>
<label for="key">Test key</label>
<input id="key" type="password" autocomplete="off" spellcheck="false" placeholder="svc_test_…" required>
<label for="body">Body</label>
<textarea id="body" rows="10" spellcheck="false"></textarea>
<button>Send to the sandbox</button>
</form>
<h2>Answer</h2>
<p id="status" role="status">No request has been sent.</p>
<pre id="answer"></pre>
</main>
</body>
</html>
`;
  app.get(tryPath, { schema: { hide: true } }, (_request, reply) =>
    reply.header('content-security-policy', policy).type('text/html; charset=utf-8').send(page),
  );
}
