import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Validator } from '@seriousme/openapi-schema-validator';
import { send, startFacadeOverRpc } from './facade-over-rpc.ts';
import type { FacadeOverRpc } from './facade-over-rpc.ts';

let facade: FacadeOverRpc;
let document: Record<string, unknown>;
beforeAll(async () => {
  facade = await startFacadeOverRpc({});
  document = (await send(`${facade.url}/openapi.json`)).json as Record<string, unknown>;
});
afterAll(() => facade.close());

/** What is found in the document at these keys, one below the other. */
function at(...keys: string[]): unknown {
  return keys.reduce<unknown>((node, key) => entriesOf(node).find(([name]) => name === key)?.[1], document);
}

const entriesOf = (node: unknown): [string, unknown][] =>
  typeof node === 'object' && node !== null ? Object.entries(node) : [];

const keysAt = (...keys: string[]): string[] => entriesOf(at(...keys)).map(([name]) => name);

describe('/openapi.json', () => {
  test('is a valid OpenAPI 3.1 document', async () => {
    const validator = new Validator();
    expect(await validator.validate(structuredClone(document))).toEqual({ valid: true });
    expect(document['openapi']).toBe('3.1.0');
  });

  test('describes the three merchant endpoints and nothing else', () => {
    expect(keysAt('paths')).toEqual(['/api/v1/register', '/api/v1/direct', '/api/v1/verify']);
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
    ['/api/v1/register', ['201', '400', '401', '403', '404', '429', '500']],
    ['/api/v1/direct', ['201', '400', '401', '429', '500']],
    ['/api/v1/verify', ['200', '400', '401', '403', '404', '429', '500']],
  ])('documents every response of %s', (path, statuses) => {
    expect(keysAt('paths', path, 'post', 'responses')).toEqual(statuses);
  });

  test('gives an example of every error, in the words of its endpoint', () => {
    const example = (path: string, status: string): unknown =>
      at('paths', path, 'post', 'responses', status, 'content', 'application/json', 'example');
    expect(example('/api/v1/verify', '404')).toEqual({ code: 404, message: 'Not found' });
    expect(example('/api/v1/direct', '401')).toEqual({ code: 401, message: 'API key is invalid or missing' });
    expect(example('/api/v1/direct', '400')).toMatchObject({ message: 'Invalid request parameters' });
  });

  test('describes every field and gives an example of it', () => {
    for (const name of ['RegisterRequest', 'DirectPaymentRequest', 'VerifyRequest', 'PaymentOrder']) {
      for (const [field, schema] of entriesOf(at('components', 'schemas', name, 'properties'))) {
        expect([field, schema]).toEqual([
          field,
          expect.objectContaining({ description: expect.any(String), examples: [expect.any(String)] }),
        ]);
      }
    }
  });

  test('describes the webhook with its signatures, and its order as verify has it', () => {
    const parameters = at('webhooks', 'orderEnded', 'post', 'parameters') as { name: string }[];
    expect(parameters.map(({ name }) => name)).toEqual([
      'webhook-id',
      'webhook-timestamp',
      'webhook-signature',
      'X-SVC-HMAC-Signature',
    ]);
    expect(keysAt('components', 'schemas', 'WebhookEvent', 'properties')).toEqual([
      'id',
      'type',
      'created_at',
      'environment',
      'sequence',
      'previous_status',
      'data',
    ]);
    expect(at('components', 'schemas', 'WebhookEvent', 'properties', 'data')).toEqual({
      $ref: '#/components/schemas/PaymentOrder',
    });
  });

  test('lists payment_option as a query parameter with its two values', () => {
    expect(at('paths', '/api/v1/direct', 'post', 'parameters')).toMatchObject([
      {
        in: 'query',
        name: 'payment_option',
        required: true,
        schema: { enum: ['walleta_ussd', 'walletb_ussd'] },
      },
    ]);
  });
});

describe('/docs', () => {
  test('loads nothing from elsewhere', async () => {
    const { status, text, headers } = await send(`${facade.url}/docs`);
    expect(status).toBe(200);
    expect(text).not.toMatch(/(src|href)="(https?:)?\/\//);
    expect(headers.get('content-security-policy')).toMatch(/default-src 'none'; script-src 'self';/);
  });

  test('has everything it loads', async () => {
    const { text } = await send(`${facade.url}/docs`);
    const links = [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, link]) => link!);
    expect(links.length).toBeGreaterThan(4);
    for (const link of links) expect((await send(new URL(link, `${facade.url}/docs`).href)).status).toBe(200);
  });

  test('sends no requests with anybody’s key', async () => {
    const { text } = await send(`${facade.url}/docs/static/swagger-initializer.js`);
    expect(text).toMatch(/"supportedSubmitMethods":\s*\[\]/);
  });
});
