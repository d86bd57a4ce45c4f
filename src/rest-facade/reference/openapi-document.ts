import swagger from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';
import { errorDetailSchema, errorSchema } from '../../merchant-api/error-envelope.ts';
import { orderExplanationSchema } from '../../merchant-api/explanation-json.ts';
import { paymentOrderSchema } from '../../merchant-api/order-json.ts';
import { refundSchema } from '../../merchant-api/refund-json.ts';
import {
  directReplySchema,
  explainReplySchema,
  refundReplySchema,
  registerReplySchema,
  verifyRefundReplySchema,
  verifyReplySchema,
} from '../../merchant-api/replies.ts';
import { merchantApiVersion } from '../../merchant-api/version.ts';
import {
  paymentLinkWebhookSchema,
  refundWebhookSchema,
  webhookSchema,
  webhooksDescription,
} from '../../merchant-api/webhook-json.ts';
import {
  directBodySchema,
  explainBodySchema,
  refundBodySchema,
  registerBodySchema,
  verifyBodySchema,
  verifyRefundBodySchema,
} from '../../merchant-api/requests.ts';
import { withBodyExamples } from './body-examples.ts';
import type { OpenApiDocument } from './openapi-types.ts';

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
  explainBodySchema,
  explainReplySchema,
  refundBodySchema,
  refundReplySchema,
  verifyRefundBodySchema,
  verifyRefundReplySchema,
  paymentOrderSchema,
  orderExplanationSchema,
  refundSchema,
  webhookSchema,
  paymentLinkWebhookSchema,
  refundWebhookSchema,
  errorSchema,
  errorDetailSchema,
];

const description = `Register payment orders, start direct mobile-money payments, verify an order, and refund it.

Every request is a POST with a JSON body and your API key in the \`apiKey\` header. A test key works only in
the sandbox, and a live key only in production. Amounts are decimal text, never JSON numbers. Fields that are not documented are
ignored. A key belongs on your server: never put it in a public web page, an app or a repository.`;

/** The licence of the repository. The Python client of openapi-generator cannot be installed without one: pip refuses its `NoLicense`. */
const license = { name: 'Apache-2.0', identifier: 'Apache-2.0' };

/**
 * Collects the schemas of the routes registered after it into an OpenAPI 3.1 document, served at /openapi.json. Returns a
 * function that reads the document. `urls` is called when the document is first read. The listeners have their ports by then.
 */
export async function addOpenApiDocument(
  app: FastifyInstance,
  urls: () => PublicUrls,
  own: keyof PublicUrls,
): Promise<() => OpenApiDocument> {
  for (const schema of schemas) app.addSchema(schema);
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'Gatehouse merchant API', version: merchantApiVersion, description, license },
      tags: [
        { name: 'Orders', description: 'Payment orders, their payments and their status.' },
        { name: 'Refunds', description: 'Refunds of paid orders to their payers.' },
        {
          name: 'Webhooks',
          description: 'Requests that Gatehouse sends to your server to report events.',
        },
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
  let text: string | undefined;
  const readText = (): string => {
    const generate = () => JSON.parse(JSON.stringify(app.swagger())) as OpenApiDocument;
    return (text ??= JSON.stringify(withBodyExamples(generate())));
  };
  let bytes: Buffer | undefined;
  app.get('/openapi.json', { schema: { hide: true } }, (_request, reply) =>
    reply.type('application/json; charset=utf-8').send((bytes ??= Buffer.from(readText()))),
  );
  return () => JSON.parse(readText()) as OpenApiDocument;
}

/** Both environments, with the environment of this listener first, because readers use the first address. */
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
