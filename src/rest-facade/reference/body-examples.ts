import type { JsonContent, OpenApiDocument, Operation } from './openapi-types.ts';
import { exampleOf } from './schema-fields.ts';

type Schemas = OpenApiDocument['components']['schemas'];

/**
 * The document with an example of each request and of each success. Postman and other programs read these, and invent values where
 * a document has only examples of fields.
 */
export function withBodyExamples(document: OpenApiDocument): OpenApiDocument {
  const { schemas } = document.components;
  const paths = mapValues(document.paths, (path) => mapValues(path, (each) => withExamples(each, schemas)));
  return { ...document, paths };
}

function withExamples({ requestBody, responses, ...operation }: Operation, schemas: Schemas): Operation {
  return {
    ...operation,
    ...(requestBody && {
      requestBody: { ...requestBody, content: withExample(requestBody.content, schemas, true) },
    }),
    responses: mapValues(responses, ({ content, ...response }) => ({
      ...response,
      ...(content && { content: withExample(content, schemas, false) }),
    })),
  };
}

function withExample(content: JsonContent, schemas: Schemas, onlyRequired: boolean): JsonContent {
  const { schema, example = exampleOf(schema, schemas, onlyRequired) } = content['application/json'];
  return { 'application/json': { schema, example } };
}

function mapValues<Value>(
  values: Readonly<Record<string, Value>>,
  map: (value: Value) => Value,
): Readonly<Record<string, Value>> {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, map(value)]));
}
