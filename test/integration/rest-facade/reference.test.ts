import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { once } from 'node:events';
import { connect } from 'node:net';
import { rpcError } from '../../../src/contract/error-reason.ts';
import { invalidFields } from '../../../src/platform/rpc/rpc-error.ts';
import { registration } from '../../e2e/merchant-api-harness.ts';
import { post, send, startFacadeOverRpc } from './facade-over-rpc.ts';
import type { Answer, FacadeOverRpc } from './facade-over-rpc.ts';

let facade: FacadeOverRpc;
let document: Record<string, unknown>;
beforeAll(async () => {
  facade = await startFacadeOverRpc({});
  document = (await send(`${facade.url}/openapi.json`)).json as Record<string, unknown>;
});
afterAll(() => facade.close());

/** The value of the document at this path of keys. */
function at(...keys: string[]): unknown {
  return keys.reduce<unknown>((node, key) => entriesOf(node).find(([name]) => name === key)?.[1], document);
}

const entriesOf = (node: unknown): [string, unknown][] =>
  typeof node === 'object' && node !== null ? Object.entries(node) : [];

const keysAt = (...keys: string[]): string[] => entriesOf(at(...keys)).map(([name]) => name);

const directPaths = ['/api/v1/direct', '/payment/v1/direct', '/api/v1/direct/payment/v1/direct'];

describe('/openapi.json', () => {
  test('is a valid OpenAPI 3.1 document', async () => {
    const validator = new Validator();
    expect(await validator.validate(structuredClone(document))).toEqual({ valid: true });
    expect(document['openapi']).toBe('3.1.0');
  });

  test('describes every path of the listener: the endpoints, the other paths of direct, and the probes', () => {
    expect(keysAt('paths').sort()).toEqual([
      '/api/v1/direct',
      '/api/v1/direct/payment/v1/direct',
      '/api/v1/explain',
      '/api/v1/refund',
      '/api/v1/refund/verify',
      '/api/v1/register',
      '/api/v1/verify',
      '/healthz',
      '/payment/v1/direct',
      '/readyz',
    ]);
    const operations = keysAt('paths').map((path) => {
      const method = path.endsWith('z') ? 'get' : 'post';
      return at('paths', path, method, 'operationId');
    });
    expect(new Set(operations).size).toBe(operations.length);
    expect(operations).not.toContain(undefined);
  });

  // pip refuses the Python client of openapi-generator without an identifier of SPDX here.
  test('names its license as SPDX does', () => {
    expect(at('info', 'license')).toEqual({ name: 'Apache-2.0', identifier: 'Apache-2.0' });
  });

  test('says for every operation whether it needs the key, and neither probes nor webhooks do', () => {
    const security = keysAt('paths').map((path) => [
      path,
      at('paths', path, 'get', 'security') ?? at('paths', path, 'post', 'security'),
    ]);
    const expected = keysAt('paths').map((path) => [path, path.endsWith('z') ? [] : [{ apiKey: [] }]]);
    expect(security).toEqual(expected);
    for (const name of keysAt('webhooks')) expect(at('webhooks', name, 'post', 'security')).toEqual([]);
  });

  test('names both servers, its own environment first', () => {
    expect(at('servers')).toMatchObject([
      { url: 'https://sandbox.pay.example' },
      { url: 'https://pay.example' },
    ]);
  });

  test('asks for the key in the header named exactly apiKey', () => {
    expect(at('components', 'securitySchemes', 'apiKey')).toMatchObject({
      type: 'apiKey',
      in: 'header',
      name: 'apiKey',
    });
    expect(at('paths', '/api/v1/verify', 'post', 'security')).toEqual([{ apiKey: [] }]);
  });

  test.each([
    ['/api/v1/register', ['201', '400', '401', '403', '404', '408', '422', '429', '431', '500', '503']],
    ...directPaths.map(
      (path) => [path, ['201', '400', '401', '404', '408', '422', '429', '431', '500', '503']] as const,
    ),
    ['/api/v1/verify', ['200', '400', '401', '403', '404', '408', '429', '431', '500', '503']],
  ] as const)('documents every response of %s', (path, statuses) => {
    expect(keysAt('paths', path, 'post', 'responses')).toEqual(statuses);
  });

  test('has an example of every error, with the message of its endpoint', () => {
    const example = (path: string, status: string): unknown =>
      at('paths', path, 'post', 'responses', status, 'content', 'application/json', 'example');
    expect(example('/api/v1/verify', '404')).toEqual({ code: 404, message: 'Not found' });
    expect(example('/api/v1/direct', '401')).toMatchObject({
      code: 401,
      message: 'API key is invalid or missing',
      details: [{ field: 'apiKey' }],
    });
    expect(example('/api/v1/direct', '400')).toMatchObject({ message: 'Invalid request parameters' });
  });

  test('has an example of every request and every success that fits its schema', () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    ajv.addSchema(document, 'document');
    const bodies = keysAt('paths').flatMap((path) =>
      keysAt('paths', path).flatMap((method) => [
        ['paths', path, method, 'requestBody'],
        ...keysAt('paths', path, method, 'responses')
          .filter((status) => status.startsWith('2'))
          .map((status) => ['paths', path, method, 'responses', status]),
      ]),
    );
    const contents = bodies
      .map((keys) => at(...keys, 'content', 'application/json'))
      .filter((content) => content !== undefined) as { schema: object; example?: unknown }[];
    expect(contents).toHaveLength(2 * 8 + 2);
    for (const { schema, example } of contents) {
      const reference = (schema as { $ref?: string }).$ref;
      const fits = ajv.compile(reference === undefined ? schema : { $ref: `document${reference}` });
      expect(fits(example)).toBe(true);
    }
    expect(at('paths', '/api/v1/verify', 'post', 'requestBody', 'content', 'application/json')).toEqual({
      schema: { $ref: '#/components/schemas/VerifyRequest' },
      example: { order_number: 'INV-2025-0042' },
    });
  });

  test('names no type below `not`, because Postman would then send every type except that one', () => {
    expect(JSON.stringify(document)).not.toMatch(/"not":\{[^}]*"type"/);
  });

  test('describes every field with an example', () => {
    for (const name of ['RegisterRequest', 'DirectPaymentRequest', 'VerifyRequest', 'PaymentOrder']) {
      for (const [field, schema] of entriesOf(at('components', 'schemas', name, 'properties'))) {
        expect([field, schema]).toEqual([
          field,
          expect.objectContaining({ description: expect.any(String), examples: [expect.any(String)] }),
        ]);
      }
    }
  });

  test('leaves open what may grow, so that a generated client accepts a new word', () => {
    for (const field of ['waiting_for', 'held_by', 'next'])
      expect(at('components', 'schemas', 'OrderExplanation', 'properties', field)).toEqual({
        type: 'string',
        description: expect.stringContaining('New words may be added.'),
        examples: expect.arrayContaining([expect.any(String), expect.any(String)]),
      });
  });

  test('describes the webhooks with their signatures, and their order or refund as in the API', () => {
    expect(keysAt('webhooks')).toEqual(['orderEnded', 'paymentLinkChanged', 'refundEnded']);
    for (const [webhook, schema, data] of [
      ['orderEnded', 'WebhookEvent', 'PaymentOrder'],
      ['paymentLinkChanged', 'PaymentLinkWebhookEvent', 'PaymentOrder'],
      ['refundEnded', 'RefundWebhookEvent', 'Refund'],
    ] as const) {
      const content = at('webhooks', webhook, 'post', 'requestBody', 'content', 'application/json');
      expect(content).toEqual({ schema: { $ref: `#/components/schemas/${schema}` } });
      const parameters = at('webhooks', webhook, 'post', 'parameters') as { name: string }[];
      expect(parameters.map(({ name }) => name)).toEqual([
        'webhook-id',
        'webhook-timestamp',
        'webhook-signature',
        'X-SVC-HMAC-Signature',
      ]);
      expect(keysAt('components', 'schemas', schema, 'properties')).toEqual([
        'id',
        'type',
        'created_at',
        'environment',
        'sequence',
        'previous_status',
        'data',
      ]);
      expect(at('components', 'schemas', schema, 'properties', 'data')).toEqual({
        $ref: `#/components/schemas/${data}`,
      });
    }
  });

  test('lists payment_option with its form, and the optional headers', () => {
    expect(at('paths', '/api/v1/direct', 'post', 'parameters')).toMatchObject([
      {
        in: 'query',
        name: 'payment_option',
        required: true,
        schema: { pattern: '^[a-z][a-z0-9]{1,30}_ussd$' },
      },
      { in: 'header', name: 'Idempotency-Key', required: false },
    ]);
    expect(at('paths', '/api/v1/verify', 'post', 'parameters')).toMatchObject([
      { in: 'header', name: 'Prefer', required: false },
    ]);
  });
});

describe('every error is answered as documented', () => {
  const fail = (thrown: Error) => (): never => {
    throw thrown;
  };
  /** The answer of core depends on the key. */
  const errors: Record<string, Error> = {
    suspended: rpcError('MERCHANT_SUSPENDED', 'no'),
    unknown: rpcError('ORDER_NOT_FOUND', 'no'),
    broken: new Error('unforeseen'),
    full: rpcError('OVERLOADED', 'no'),
    invalid: invalidFields([{ field: 'order_number', issue: 'is no good' }]),
  };
  const answering = ({ merchantId }: { merchantId: string }): never => fail(errors[merchantId]!)();
  const paths = ['/api/v1/register', '/api/v1/verify', ...directPaths];
  let scripted: FacadeOverRpc;
  const late = new Map<string, Promise<string>>();

  beforeAll(async () => {
    scripted = await startFacadeOverRpc({
      apiKeys: {
        authenticateApiKey: ({ apiKey }) => {
          if (apiKey === 'nobody') throw rpcError('INVALID_API_KEY', 'no');
          if (apiKey === 'suspended') throw errors['suspended']!;
          return { merchantId: apiKey, apiKeyId: `key_${apiKey}` };
        },
      },
      orders: { registerOrder: answering, startDirectPayment: answering, getOrder: answering },
    });
    // The server closes them after its own time limit. The other tests run meanwhile.
    for (const path of paths)
      late.set(path, exchangeRaw(scripted.url, `POST ${path} HTTP/1.1\r\nhost: a\r\nx-begun`));
  });
  afterAll(() => scripted.close());

  const order = registration();
  const body = (path: string): object => {
    const { order_number, amount, currency } = order;
    if (path.endsWith('register')) return order;
    return path.endsWith('verify')
      ? { order_number }
      : { order_number, amount, currency, phone: '0911223344' };
  };
  const ask = (path: string, apiKey: string, own: object = {}): Promise<Answer> =>
    post(`${scripted.url}${path}?payment_option=walleta_ussd`, { ...body(path), ...own }, { apiKey });

  const causes: readonly (readonly [status: number, cause: (path: string) => Promise<Answer>])[] = [
    [400, (path) => ask(path, 'invalid', { order_number: 1 })],
    [401, (path) => ask(path, 'nobody')],
    [403, (path) => ask(path, 'suspended')],
    [404, (path) => send(scripted.url + path)],
    [408, async (path) => answerOf(await late.get(path)!)],
    [429, (path) => ask(path, 'full')],
    [
      431,
      async (path) =>
        answerOf(
          await exchangeRaw(scripted.url, `POST ${path} HTTP/1.1\r\nx: ${'x'.repeat(20_000)}\r\n\r\n`),
        ),
    ],
    [500, (path) => ask(path, 'broken')],
  ];

  test.each(causes)('%d', async (status, cause) => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false, validateSchema: false });
    ajv.addSchema(document, 'openapi.json');
    for (const path of paths) {
      const answer = await cause(path);
      // Direct has no 403, because there the key of a merchant without access counts as invalid.
      const expected = status === 403 && directPaths.includes(path) ? 401 : status;
      expect([path, answer.status]).toEqual([path, expected]);
      const documented = ['paths', path, 'post', 'responses', String(expected)];
      const example = Object(at(...documented, 'content', 'application/json', 'example'));
      expect(answer.json).toMatchObject({ code: expected, message: Reflect.get(example, 'message') });
      if (status === 408 || status === 431) expect(answer.json).toEqual(example);
      const pointer = [...documented, 'content', 'application/json', 'schema']
        .map((part) => encodeURIComponent(part.replaceAll('/', '~1')))
        .join('/');
      const validate = ajv.compile({ $ref: `openapi.json#/${pointer}` });
      validate(answer.json);
      expect([path, validate.errors ?? []]).toEqual([path, []]);
      for (const name of keysAt(...documented, 'headers'))
        expect([path, name, answer.headers.get(name)]).toEqual([path, name, expect.stringMatching(/./)]);
    }
  });

  test.each([
    ['/healthz', 200, { status: 'ok' }],
    // The scripted core does not report its health.
    ['/readyz', 503, { code: 503, message: 'Core is not ready' }],
  ])('%s answers %d as documented', async (path, status, answered) => {
    const { status: given, json } = await send(scripted.url + path);
    expect([given, json]).toEqual([status, answered]);
    expect(
      at('paths', path, 'get', 'responses', String(status), 'content', 'application/json', 'example'),
    ).toEqual(answered);
  });
});

/** Sends bytes, and returns everything that arrives until the server closes the connection. */
async function exchangeRaw(url: string, request: string): Promise<string> {
  const { hostname: host, port } = new URL(url);
  const socket = connect({ host, port: Number(port) });
  let received = '';
  socket.on('data', (chunk: Buffer) => (received += chunk.toString('utf8')));
  const closed = once(socket, 'close');
  socket.write(request);
  await closed;
  return received;
}

function answerOf(received: string): Answer {
  const [head = '', text = ''] = received.split('\r\n\r\n');
  const [line = '', ...lines] = head.split('\r\n');
  const headers = new Headers(
    lines.map((each): [string, string] => [each.split(': ')[0]!, each.split(': ')[1]!]),
  );
  return { status: Number(line.split(' ')[1]), headers, text, json: JSON.parse(text) };
}

describe('/docs', () => {
  let page: Answer;
  beforeAll(async () => {
    page = await send(`${facade.url}/docs`);
  });
  /** The texts in `code` in the section of an endpoint, a webhook or an object. */
  const codesIn = (id: string): string[] => {
    const section = page.text.split('<section').find((text) => text.includes(`<h3 id="${id}"`)) ?? '';
    return [...section.matchAll(/<code>([^<]*)<\/code>/g)].map(([, code]) => code!);
  };

  test('shows every endpoint, parameter, field and status of the document', () => {
    const operations = [
      ...keysAt('paths').map((path) => ['paths', path, path.endsWith('z') ? 'get' : 'post']),
      ...keysAt('webhooks').map((name) => ['webhooks', name, 'post']),
    ].filter(([, path]) => !directPaths.slice(1).includes(path!));
    expect(operations).toHaveLength(11);
    for (const keys of operations) {
      const codes = codesIn(String(at(...keys, 'operationId')));
      const schema = at(...keys, 'requestBody', 'content', 'application/json', 'schema', '$ref');
      const fields =
        typeof schema === 'string'
          ? keysAt('components', 'schemas', schema.split('/').at(-1)!, 'properties')
          : [];
      const parameters = entriesOf(at(...keys, 'parameters')).map(([, each]): unknown =>
        Reflect.get(Object(each), 'name'),
      );
      const statuses = keysAt(...keys, 'responses').filter((status) => !status.startsWith('2'));
      expect(codes).toEqual(expect.arrayContaining([...fields, ...parameters, ...statuses]));
    }
    for (const name of ['PaymentOrder', 'Refund'])
      expect(codesIn(name)).toEqual(
        expect.arrayContaining(keysAt('components', 'schemas', name, 'properties')),
      );
    const words = at('components', 'schemas', 'OrderExplanation', 'properties', 'waiting_for', 'examples');
    expect(codesIn('explainOrder')).toEqual(expect.arrayContaining(words as string[]));
    expect(codesIn('registerOrder')).toEqual(expect.arrayContaining(['data.checkout_url', '^[!-~]+$']));
    expect(page.text).toContain('<code>details[].issue</code>');
  });

  test('has every link target and every file that it loads, none from another host, and no inline script or style', async () => {
    const links = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, link]) => link!);
    const [anchors, files] = [
      links.filter((link) => link.startsWith('#')),
      links.filter((link) => !link.startsWith('#')),
    ];
    expect(anchors.length).toBeGreaterThan(20);
    for (const anchor of anchors) expect(page.text).toContain(`id="${anchor.slice(1)}"`);
    expect(files).toHaveLength(3);
    for (const file of files) expect((await send(facade.url + file)).status).toBe(200);
    expect(page.text).not.toMatch(/<style|<script>|style=|javascript:| on[a-z]+=/);
    expect(page.headers.get('content-security-policy')).toBe(
      "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    );
    expect((await fetch(`${facade.url}/docs/try`, { redirect: 'manual' })).headers.get('location')).toBe(
      '/docs',
    );
  });

  test('of production has no script and no field for a key, and links the page of the sandbox', async () => {
    const production = await startFacadeOverRpc({}, { environment: 'production' });
    try {
      const { text, headers } = await send(`${production.url}/docs`);
      expect(text).not.toMatch(/<script|<input|<form/);
      expect(text).toContain('href="https://sandbox.pay.example/docs"');
      expect(headers.get('content-security-policy')).not.toMatch(/script-src|connect-src/);
      expect((await send(`${production.url}/docs/try`)).status).toBe(404);
    } finally {
      await production.close();
    }
  });
});
