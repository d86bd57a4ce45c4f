import { Code, ConnectError } from '@connectrpc/connect';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createLogger } from '../../../src/platform/logger.ts';
import { maskPhone } from '../../../src/platform/mask-sensitive.ts';
import { runInSpan } from '../../../src/platform/tracing/span.ts';
import type { Span } from '../../../src/platform/tracing/span.ts';

interface Written {
  readonly text: string;
  readonly json: Record<string, unknown>;
}

function write(fields: object, level = 'info'): Written {
  let text = '';
  const logger = createLogger(
    { process: 'core', instance: 'core-1', level },
    { write: (line: string) => void (text += line) },
  );
  logger.info(fields, 'said');
  return { text, json: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>) };
}

test('a line is one JSON object with time, level by name, process and instance', () => {
  const { text, json } = write({ order_id: 'ord_1' });
  expect(text.endsWith('}\n')).toBe(true);
  expect(json).toEqual({
    level: 'info',
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    process: 'core',
    instance: 'core-1',
    order_id: 'ord_1',
    msg: 'said',
  });
});

test.each([
  ['recorded', true, '0911223344556677'],
  ['not recorded', false, undefined],
])('a line in a span that is %s has the unmasked ids that lead somewhere', (_, isSampled, loggedSpanId) => {
  const context = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '0911223344556677', isSampled };
  const span: Span = {
    context,
    begin: () => span,
    set: () => undefined,
    rename: () => undefined,
    link: () => undefined,
    end: () => undefined,
  };
  const { trace_id, span_id, ...others } = runInSpan(span, () => write({ order_id: 'ord_1' })).json;
  expect({ trace_id, span_id }).toEqual({ trace_id: context.traceId, span_id: loggedSpanId });
  expect(others).toMatchObject({ order_id: 'ord_1', msg: 'said' });
  expect(write({}).json).not.toHaveProperty('trace_id');
});

test('nothing below the level is written', () => {
  expect(write({}, 'warn').text).toBe('');
});

describe('a secret is masked', () => {
  const names = [
    ...[
      'apiKey',
      'apikey',
      'api_key',
      'x-api-key',
      'authorization',
      'Authorization',
      'secret',
      'clientSecret',
    ],
    ...['token', 'service_token', 'GATEHOUSE_SERVICE_TOKEN', 'password', 'masterKey', 'GATEHOUSE_MASTER_KEY'],
  ];

  test.each(names)('under the name %s, at any depth', (name) => {
    for (
      let depth = 0, fields: object = { [name]: 'canary' };
      depth < 8;
      depth += 1, fields = { inner: fields }
    ) {
      const { text } = write(fields);
      expect(text).toContain('"[masked]"');
      expect(text).not.toContain('canary');
    }
  });

  test.each([
    ['in a list', { headers: [{ token: 'canary' }] }],
    ['in an error', { err: Object.assign(new Error('failed'), { config: { password: 'canary' } }) }],
    [
      'in the cause of an error',
      { err: new Error('failed', { cause: Object.assign(new Error('x'), { token: 'canary' }) }) },
    ],
    [
      'in an object of a class',
      {
        options: new (class Options {
          readonly secret = 'canary';
        })(),
      },
    ],
    ['that is a list', { authorization: ['Bearer canary', 'a]"canary'] }],
    ['with quotes and backslashes', { token: 'a"canary\\", "b":"canary' }],
    ['that is a number', { token: 271828, list: [{ password: 271828 }] }],
  ])('%s', (_where, fields) => {
    const { text } = write(fields);
    expect(text).not.toMatch(/canary|271828/);
    expect(() => void JSON.parse(text)).not.toThrow();
  });

  test('and other fields are not masked', () => {
    const { json } = write({ api_key_id: 'key_1', token: 'canary', secrets_found: 0, msg_count: 2 });
    expect(json).toMatchObject({ api_key_id: 'key_1', secrets_found: 0, msg_count: 2 });
  });

  test('whatever its text is, and the line stays one JSON object', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', minLength: 4 }), fc.jsonValue(), (secret, other) => {
        const { json } = write({ other, deep: { er: { password: `<${secret}>` } } });
        expect(json['deep']).toEqual({ er: { password: '[masked]' } });
      }),
    );
  });
});

describe('an error', () => {
  const written = (err: unknown): Record<string, unknown> =>
    write({ err }).json['err'] as Record<string, unknown>;

  // A search that is not linear would take minutes for the second one.
  test.each([
    ['is no URL', 'file://[a.mjs:1:1'],
    ['never ends', 'file:///a'.repeat(100_000)],
    ['names a file that does not exist', 'file:///no/such.mjs:1:1'],
  ])('is written when its message quotes a position that %s', (_, message) => {
    const { err } = write({ err: new Error(message) }).json;
    expect(err).toMatchObject({ message, stack: expect.stringContaining(message) });
  });

  test.each([
    ['says more', new Error('failed', { cause: new Error('because') }), 'failed: because'],
    [
      'repeats the message of an unreachable server',
      new Error(
        '[unavailable] round_robin: No connection established. Last error: No connection established. Last error: Error: connect ECONNREFUSED 127.0.0.1:1. Resolution note: ',
        {
          cause: new Error(
            '14 UNAVAILABLE: round_robin: No connection established. Last error: No connection established. Last error: Error: connect ECONNREFUSED 127.0.0.1:1. Resolution note: ',
          ),
        },
      ),
      '[unavailable] No connection established: Error: connect ECONNREFUSED 127.0.0.1:1',
    ],
  ])('has one message if its cause %s', (_, error, message) => {
    expect(write({ err: error }).json).toMatchObject({ err: { message } });
  });

  test('is written with its type, message, stack, plain members and the message of its cause', () => {
    const error = Object.assign(new TypeError('failed', { cause: new Error('because') }), {
      code: '23505',
      line: 5,
    });
    expect(written(error)).toEqual({
      type: 'TypeError',
      message: 'failed: because',
      stack: expect.stringMatching(/TypeError: failed[^]*caused by: Error: because/),
      code: '23505',
      line: 5,
    });
  });

  test.each([
    ['an RPC', new ConnectError('busy', Code.Unavailable), '14'],
    ['a socket', Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }), 'ECONNREFUSED'],
  ])('has a text as the code of %s, because stores of logs take one type for a field', (_, error, code) => {
    expect(written(error)).toHaveProperty('code', code);
  });

  test.each([
    ['DatabaseError', class DatabaseError2 extends Error {}],
    ['ConnectError', class _ConnectError extends Error {}],
  ])('has the type %s also in a bundle, which renames its class', (type, BundledError) => {
    expect(written(new BundledError('failed'))).toHaveProperty('type', type);
  });

  test.each(['0911223344', '+251911223344', '251911223344', '911223344'])(
    'has the phone %s masked in each of its texts',
    (phone) => {
      const error = Object.assign(
        new Error(`insert values ('${phone}', 1)`, { cause: new Error(`(${phone})`) }),
        {
          detail: `Failing row contains (${phone}, x).`,
          config: { phone },
        },
      );
      expect(write({ err: error }).text).not.toContain(phone);
      expect(write({ err: new AggregateError([new Error(phone)], phone) }).text).not.toContain(phone);
      expect(written(error)['detail']).toBe(`Failing row contains (${maskPhone(phone)}, x).`);
    },
  );

  test('keeps ids and short numbers', () => {
    const message = 'order 0199c1e2-1234-7123-8123-123456789012 at line 12345678';
    expect(written(new Error(message))['message']).toBe(message);
  });

  test.each(['text', 42, null])('may be any value: %p', (thrown) => {
    expect(written(thrown)).toBe(thrown);
  });
});

test('a text in any field is masked by its form, also in lists and objects, and numbers and fields of the caller are not', () => {
  const fields = {
    order_number: 'INV-0911223344',
    issues: ['phone +251911223344'],
    lane: { host: 'svc_live_abcDEF.example' },
    bytes: 911223344,
  };
  const { json } = write(fields);
  expect(json).toMatchObject({
    order_number: 'INV-09112**344',
    issues: ['phone +2519*****344'],
    lane: { host: 'svc_live_[masked].example' },
    bytes: 911223344,
  });
  expect(fields.order_number).toBe('INV-0911223344');
});
