import { directAliases } from '../direct-endpoint.ts';
import type { OpenApiDocument, Operation, Parameter, Schema } from './openapi-types.ts';
import { clientSetups, requestExamples } from './request-examples.ts';
import type { RequestExample } from './request-examples.ts';
import { describeField, exampleOf, fieldsOf, referencedName, resolve } from './schema-fields.ts';
import type { Field, Schemas } from './schema-fields.ts';

/** One status that an endpoint answers, or that a merchant's server answers to a webhook. */
export interface Answer {
  readonly status: string;
  readonly message: string;
  readonly description: string;
  readonly headers: readonly Field[];
  readonly fields: readonly Field[];
  readonly example: string | undefined;
}

/** An endpoint or a webhook as the page shows it. */
export interface Endpoint {
  readonly id: string;
  readonly method: string;
  /** Empty for a webhook: the merchant chooses the path. */
  readonly path: string;
  readonly summary: string;
  readonly description: string;
  readonly parameters: readonly (Field & { readonly in: Parameter['in'] })[];
  readonly fields: readonly Field[];
  readonly body: string | undefined;
  readonly examples: readonly RequestExample[];
  readonly successes: readonly Answer[];
  readonly errors: readonly Answer[];
  /** Whether the page of the sandbox can send it. */
  readonly isTriable: boolean;
}

export interface ReferenceView {
  readonly title: string;
  readonly version: string;
  readonly description: string;
  readonly servers: OpenApiDocument['servers'];
  readonly setups: readonly RequestExample[];
  readonly groups: readonly {
    readonly name: string;
    readonly description: string;
    readonly endpoints: readonly Endpoint[];
  }[];
  readonly objects: readonly {
    readonly id: string;
    readonly title: string;
    readonly fields: readonly Field[];
    readonly example: string;
  }[];
  readonly errorFields: readonly Field[];
  readonly errorExample: string | undefined;
}

/** Objects that several endpoints answer. Each is described once. */
const sharedObjects = ['PaymentOrder', 'Refund'];

/** Every answer has it. The page says so once. */
const commonHeader = 'X-Request-Id';

const asJson = (value: unknown): string => JSON.stringify(value, null, 2);

/** The parts of the document that the page at /docs shows. Other paths of the same endpoint are left to its description. */
export function describeDocument(document: OpenApiDocument): ReferenceView {
  const { schemas } = document.components;
  const baseUrl = document.servers[0]?.url ?? '';
  const endpoints = Object.entries(document.paths).flatMap(([path, methods]) =>
    directAliases.includes(path)
      ? []
      : Object.entries(methods).map(([method, operation]) => ({
          tags: operation.tags,
          endpoint: {
            ...describeOperation(operation, schemas),
            method: method.toUpperCase(),
            path,
            examples: requestExamples(baseUrl, path, operation, schemas),
            isTriable: operation.requestBody !== undefined,
          },
        })),
  );
  const webhooks = Object.values(document.webhooks).map(({ post }) => ({
    tags: post.tags,
    endpoint: {
      ...describeOperation(post, schemas),
      method: 'POST',
      path: '',
      examples: [],
      isTriable: false,
    },
  }));
  const all: readonly { readonly tags: readonly string[]; readonly endpoint: Endpoint }[] = [
    ...endpoints,
    ...webhooks,
  ];
  return {
    ...document.info,
    servers: document.servers,
    setups: clientSetups(baseUrl),
    groups: document.tags.map(({ name, description }) => ({
      name,
      description,
      endpoints: all.filter(({ tags }) => tags.includes(name)).map(({ endpoint }) => endpoint),
    })),
    objects: sharedObjects.map((id) => {
      const schema: Schema = resolve({ $ref: id }, schemas);
      return {
        id,
        title: schema.title ?? id,
        fields: fieldsOf(schema, schemas, sharedObjects),
        example: asJson(exampleOf(schema, schemas)),
      };
    }),
    errorFields: fieldsOf({ $ref: 'Error' }, schemas, []),
    errorExample: all.flatMap(({ endpoint }) => endpoint.errors).find(({ status }) => status === '400')
      ?.example,
  };
}

function describeOperation(operation: Operation, schemas: Schemas) {
  const { operationId: id, summary, description = '', parameters = [], requestBody } = operation;
  const schema = requestBody?.content['application/json'].schema;
  const answers = answersOf(operation, schemas);
  return {
    id,
    summary,
    description,
    parameters: parameters.map(({ in: location, name, required, example, schema: value, ...own }) => ({
      ...describeField(name, value),
      ...own,
      ...(example === undefined ? {} : { example }),
      required,
      in: location,
    })),
    fields: schema === undefined ? [] : fieldsOf(schema, schemas, sharedObjects),
    body: schema === undefined ? undefined : asJson(exampleOf(schema, schemas, true)),
    successes: answers.filter(({ status }) => status.startsWith('2')),
    errors: answers.filter(({ status }) => !status.startsWith('2')),
  };
}

function answersOf({ responses }: Operation, schemas: Schemas): readonly Answer[] {
  return Object.entries(responses).map(([status, { description, headers = {}, content }]) => {
    const body = content?.['application/json'];
    const example = body?.example ?? (body === undefined ? undefined : exampleOf(body.schema, schemas));
    const message: unknown = Reflect.get(Object(example), 'message');
    const isError = body !== undefined && referencedName(body.schema) === 'Error';
    return {
      status,
      message: typeof message === 'string' ? message : '',
      description,
      headers: Object.entries(headers).flatMap(([name, header]) =>
        name === commonHeader
          ? []
          : [{ ...describeField(name, header.schema), description: header.description }],
      ),
      fields: body === undefined || isError ? [] : fieldsOf(body.schema, schemas, sharedObjects),
      example: example === undefined ? undefined : asJson(example),
    };
  });
}
