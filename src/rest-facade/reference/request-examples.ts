import type { Operation, Schema } from './openapi-types.ts';
import { exampleOf, referencedName } from './schema-fields.ts';
import type { Schemas } from './schema-fields.ts';

/** A request in one programming language. */
export interface RequestExample {
  readonly language: string;
  readonly code: string;
}

/** The part that every program runs once, before its requests. `baseUrl` is the address of this environment. */
export function clientSetups(baseUrl: string): readonly RequestExample[] {
  return [
    {
      language: 'TypeScript',
      code: `import { Gatehouse } from 'gatehouse-client';

const gateway = new Gatehouse({ apiKey: process.env.API_KEY ?? '', baseUrl: '${baseUrl}' });`,
    },
    {
      language: 'Python',
      code: `import os
from gatehouse_client import Gatehouse

gateway = Gatehouse(os.environ["API_KEY"], "${baseUrl}")`,
    },
    {
      language: 'PHP',
      code: `require 'vendor/autoload.php';

$gateway = new Gatehouse\\Client\\Gatehouse(getenv('API_KEY'), '${baseUrl}');`,
    },
    {
      language: 'Go',
      code: `gateway, err := gatehouse.New(gatehouse.Settings{
\tAPIKey:  os.Getenv("API_KEY"),
\tBaseURL: "${baseUrl}",
})`,
    },
  ];
}

/** The calls of the client libraries. An operation without one has an example for curl only. */
const calls: Readonly<Record<string, { readonly camel: string; readonly snake: string }>> = {
  registerOrder: { camel: 'register', snake: 'register' },
  startDirectPayment: { camel: 'direct', snake: 'direct' },
  verifyOrder: { camel: 'verify', snake: 'verify' },
  explainOrder: { camel: 'explain', snake: 'explain' },
  createRefund: { camel: 'refund', snake: 'refund' },
  verifyRefund: { camel: 'verifyRefund', snake: 'verify_refund' },
};

/** A request with its required fields, for the shell and for each client library. */
export function requestExamples(
  baseUrl: string,
  path: string,
  operation: Operation,
  schemas: Schemas,
): readonly RequestExample[] {
  const schema = operation.requestBody?.content['application/json'].schema;
  if (schema === undefined) return [{ language: 'curl', code: `curl ${baseUrl}${path}` }];
  const query = requiredQuery(operation);
  const body = exampleOf(schema, schemas, true) as Readonly<Record<string, string>>;
  const curl = { language: 'curl', code: curlRequest(baseUrl + targetOf(path, operation), body) };
  const call = calls[operation.operationId];
  if (call === undefined) return [curl];
  const given = { ...query, ...body };
  return [
    curl,
    { language: 'TypeScript', code: `const reply = await gateway.${call.camel}(${inTypeScript(given)});` },
    { language: 'Python', code: `reply = gateway.${call.snake}(${inPython(given)})` },
    { language: 'PHP', code: `$reply = $gateway->${call.camel}(${inPhp(given)});` },
    { language: 'Go', code: `reply, err := gateway.${exported(call.camel)}(ctx, ${inGo(given, schema)})` },
  ];
}

const requiredQuery = ({ parameters = [] }: Operation): Record<string, string> =>
  Object.fromEntries(
    parameters.flatMap(({ in: location, required, name, example = '' }) =>
      location === 'query' && required ? [[name, example]] : [],
    ),
  );

/** The path with the required parameters of the query. */
function targetOf(path: string, operation: Operation): string {
  const query = new URLSearchParams(requiredQuery(operation)).toString();
  return query === '' ? path : `${path}?${query}`;
}

function curlRequest(url: string, body: object): string {
  const json = JSON.stringify(body, null, 2).replaceAll("'", `'\\''`);
  return `curl '${url}' \\
  -H "apiKey: $API_KEY" \\
  -H 'Content-Type: application/json' \\
  -d '${json}'`;
}

/** A request with one field is called with its value alone. */
const onlyValue = (given: Readonly<Record<string, string>>): string | undefined => {
  const values = Object.values(given);
  return values.length === 1 ? values[0] : undefined;
};

const quoted = (text: string): string => `'${text.replace(/[\\']/g, '\\$&')}'`;

function inTypeScript(given: Readonly<Record<string, string>>): string {
  const value = onlyValue(given);
  if (value !== undefined) return quoted(value);
  return `{\n${Object.entries(given)
    .map(([name, each]) => `  ${name}: ${quoted(each)},\n`)
    .join('')}}`;
}

function inPython(given: Readonly<Record<string, string>>): string {
  const value = onlyValue(given);
  if (value !== undefined) return JSON.stringify(value);
  return `\n${Object.entries(given)
    .map(([name, each]) => `    ${name}=${JSON.stringify(each)},\n`)
    .join('')}`;
}

function inPhp(given: Readonly<Record<string, string>>): string {
  const value = onlyValue(given);
  if (value !== undefined) return quoted(value);
  return `\n${Object.entries(given)
    .map(([name, each]) => `    ${name}: ${quoted(each)},\n`)
    .join('')}`;
}

/** Go aligns the values of a literal. */
function inGo(given: Readonly<Record<string, string>>, schema: Schema): string {
  const value = onlyValue(given);
  if (value !== undefined) return JSON.stringify(value);
  const fields = Object.entries(given).map(
    ([name, each]) => [`${goName(name)}:`, JSON.stringify(each)] as const,
  );
  const width = Math.max(...fields.map(([name]) => name.length)) + 1;
  return `gatehouse.${referencedName(schema)}{\n${fields
    .map(([name, each]) => `\t${name.padEnd(width)}${each},\n`)
    .join('')}}`;
}

const exported = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);

/** The name of a field in the Go client: ReturnURL for `return_url`. */
const goName = (name: string): string =>
  name
    .split('_')
    .map((word) => (word === 'url' || word === 'id' ? word.toUpperCase() : exported(word)))
    .join('');
