import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';
import { errorDetailSchema, errorSchema } from '../merchant-api/error-envelope.ts';
import { paymentOrderSchema } from '../merchant-api/order-json.ts';
import { refundSchema } from '../merchant-api/refund-json.ts';
import {
  directReplySchema,
  refundReplySchema,
  registerReplySchema,
  verifyRefundReplySchema,
  verifyReplySchema,
} from '../merchant-api/replies.ts';
import { merchantApiVersion } from '../merchant-api/version.ts';
import { refundWebhookSchema, webhookSchema, webhooksDescription } from '../merchant-api/webhook-json.ts';
import {
  directBodySchema,
  refundBodySchema,
  registerBodySchema,
  verifyBodySchema,
  verifyRefundBodySchema,
} from '../merchant-api/requests.ts';

/** The public URLs of the two environments. */
export interface PublicUrls {
  readonly production: string;
  readonly sandbox: string;
}

/** Schemas that are published by name. Routes refer to them. */
const schemas = [
  registerBodySchema,
  registerReplySchema,
  directBodySchema,
  directReplySchema,
  verifyBodySchema,
  verifyReplySchema,
  refundBodySchema,
  refundReplySchema,
  verifyRefundBodySchema,
  verifyRefundReplySchema,
  paymentOrderSchema,
  refundSchema,
  webhookSchema,
  refundWebhookSchema,
  errorSchema,
  errorDetailSchema,
];

/** The page loads only files of this process. Swagger UI writes style attributes, which need the only exception. */
const pageSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/**
 * The page sends no requests, so it needs no field for a key. No reply has links, so their column is hidden. With narrow first
 * columns, the page fits a phone.
 */
const narrowTables = `
.swagger-ui .auth-wrapper, .swagger-ui .authorization__btn { display: none; }
.swagger-ui .response-col_links { display: none; }
@media (max-width: 40rem) {
  .swagger-ui .responses-inner { padding: 0.5rem; }
  .swagger-ui table tbody tr td:first-of-type { max-width: none; min-width: 0; padding-right: 0.5rem; }
  .swagger-ui .headers td { overflow-wrap: anywhere; }
}
`;

const description = `Register payment orders, start direct mobile-money payments, ask where an order stands, and refund it.

Every request is a POST with a JSON body and your API key in the \`apiKey\` header. Test keys work in the sandbox, live
keys in production, each only there. Amounts are decimal text, never JSON numbers. Fields that are not documented are
ignored. A key belongs on your server: never in a browser, an app or a repository. That is why this page sends no
requests. In the sandbox, the page /docs/try sends requests with your test key.`;

/**
 * Collects the schemas of the routes registered after it into an OpenAPI 3.1 document, served at /openapi.json, and a
 * page to read it at /docs. The page sends no requests, because an API key must not be used in a browser.
 * `urls` is called when the document is first read. The listeners have their ports by then.
 */
export async function addReference(
  app: FastifyInstance,
  urls: () => PublicUrls,
  own: keyof PublicUrls,
): Promise<void> {
  for (const schema of schemas) app.addSchema(schema);
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'Gatehouse merchant API', version: merchantApiVersion, description },
      tags: [
        { name: 'Orders', description: 'Payment orders and what becomes of them.' },
        { name: 'Refunds', description: 'Money on its way back to customers.' },
        { name: 'Webhooks', description: 'What your server receives when an order or a refund has ended.' },
        { name: 'Probes', description: 'For load balancers. No key is needed.' },
      ],
      components: {
        securitySchemes: {
          apiKey: {
            type: 'apiKey',
            in: 'header',
            name: 'apiKey',
            description: 'Your key for this environment.',
          },
        },
      },
    },
    transformObject: (document) =>
      'openapiObject' in document
        ? { ...document.openapiObject, servers: servers(urls(), own), webhooks: webhooksDescription }
        : {},
    refResolver: { buildLocalReference: (json, _base, _fragment, index) => nameOf(json, index) },
  });
  await app.register(swaggerUi, {
    routePrefix: '/docs',
    staticCSP: pageSecurityPolicy,
    theme: {
      title: 'Gatehouse merchant API',
      css: [{ filename: 'narrow-tables.css', content: narrowTables }],
    },
    uiConfig: { layout: 'BaseLayout', deepLinking: true, docExpansion: 'list', supportedSubmitMethods: [] },
  });
  let document: string | undefined;
  app.get('/openapi.json', { schema: { hide: true } }, (_request, reply) => {
    document ??= JSON.stringify(app.swagger());
    return reply.type('application/json; charset=utf-8').send(document);
  });
}

/** Both environments, with the environment of this listener first, because the page shows the first address. */
function servers({ production, sandbox }: PublicUrls, own: keyof PublicUrls) {
  const both = [
    { url: production, description: 'Production: live keys, real money' },
    { url: sandbox, description: 'Sandbox: test keys, no real money' },
  ];
  return own === 'production' ? both : both.toReversed();
}

function nameOf(schema: object, index: number): string {
  return '$id' in schema && typeof schema.$id === 'string' ? schema.$id : `schema-${index}`;
}
