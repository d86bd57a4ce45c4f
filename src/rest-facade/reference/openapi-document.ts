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

const description = `Register payment orders, start direct mobile-money payments, ask where an order stands, and refund it.

Every request is a POST with a JSON body and your API key in the \`apiKey\` header. Test keys work in the sandbox, live
keys in production, each only there. Amounts are decimal text, never JSON numbers. Fields that are not documented are
ignored. A key belongs on your server: never put it in a public web page, an app or a repository.`;

/** The parts of the document that the page at /docs shows. */
export interface OpenApiDocument {
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly servers: readonly { readonly url: string; readonly description: string }[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly webhooks: Readonly<Record<string, { readonly post: Operation }>>;
}

export interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tags: readonly string[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: JsonContent };
  readonly responses: Readonly<Record<string, Response>>;
}

export interface Parameter {
  readonly in: 'query' | 'header';
  readonly name: string;
  readonly required: boolean;
  readonly description: string;
  readonly example?: string;
  readonly schema: Schema;
}

interface Response {
  readonly description: string;
  readonly headers?: Readonly<Record<string, { readonly description: string; readonly schema: Schema }>>;
  readonly content?: JsonContent;
}

interface JsonContent {
  readonly 'application/json': { readonly schema: Schema; readonly example?: unknown };
}

/** A schema, or a reference to a published one. */
export interface Schema {
  readonly $ref?: string;
  readonly title?: string;
  readonly type?: string;
  readonly description?: string;
  readonly format?: string;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly enum?: readonly unknown[];
  readonly examples?: readonly unknown[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

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
      info: { title: 'Gatehouse merchant API', version: merchantApiVersion, description },
      tags: [
        { name: 'Orders', description: 'Payment orders and what becomes of them.' },
        { name: 'Refunds', description: 'Money on its way back to customers.' },
        {
          name: 'Webhooks',
          description: 'What your server receives when an order, a payment link or a refund has ended.',
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
  const readText = (): string => (text ??= JSON.stringify(app.swagger()));
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
