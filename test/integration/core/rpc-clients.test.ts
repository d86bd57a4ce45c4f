import { create, createRegistry, toBinary } from '@bufbuild/protobuf';
import { createClient } from '@connectrpc/connect';
import type { Client, ConnectError, Interceptor, Transport } from '@connectrpc/connect';
import {
  Http2SessionManager,
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from '@connectrpc/connect-node';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  ErrorInfoSchema,
  file_google_rpc_error_details,
} from '../../../src/gen/google/rpc/error_details_pb.js';
import { Environment, OrderEventType, OrderStatus } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { GetOrderRequestSchema, OrderService } from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import { fromStatus } from '../../../src/platform/rpc/rpc-error.ts';
import { orderNamed, registration } from '../../support/order-requests.ts';
import { describeFailure } from '../../support/rpc-failure.ts';
import { bufCurl, plainGrpcClient, plainOrder, readStatus } from './rpc-clients.ts';
import type { PlainGrpcClient, PlainMessage } from './rpc-clients.ts';
import { sharedStack, sharedConnection } from '../../support/shared-stack.ts';
import { postJson } from '../../support/post-json.ts';

let merchantId: string;
let orderCount = 0;
const newOrderNumber = (): string => `C-${++orderCount}`;
/** Another payer for each payment, because a phone gets one prompt at a time. */
const newPhone = (): string => `+2519${String(++orderCount).padStart(8, '0')}`;

const stack = sharedStack({ facades: 0 });
const database = sharedConnection(() => stack.databaseUrl);
beforeAll(async () => {
  merchantId = (await stack.createMerchant()).id;
});

const storedOrders = async (orderNumber: string): Promise<number> =>
  (await database.query('select from core.orders where order_number = $1', [orderNumber])).rowCount ?? -1;

/** Every field that can be invalid is invalid. */
const allWrong = {
  merchantId: 'nobody',
  environment: Environment.UNSPECIFIED,
  orderNumber: 'with space',
  amount: '01',
  currency: 'etb',
  reason: '',
  customerPhone: '12',
  returnUrl: 'javascript:alert(1)',
  webhookUrl: 'https://user:secret@shop.example/',
  businessName: 'x'.repeat(129),
  paymentType: 3,
};
const allWrongFields =
  'amount business_name currency customer_phone environment merchant_id order_number payment_type reason return_url webhook_url';

const overHttp1 = ({ baseUrl, interceptors }: HttpOptions) =>
  ({ baseUrl, interceptors, httpVersion: '1.1', nodeOptions: { agent: false } }) as const;
const readableErrors = { registry: createRegistry(file_google_rpc_error_details) };
const transports = {
  'Connect over HTTP/1.1': (options: HttpOptions) => createConnectTransport(overHttp1(options)),
  'Connect in JSON over HTTP/1.1': (options: HttpOptions) =>
    createConnectTransport({ ...overHttp1(options), useBinaryFormat: false, jsonOptions: readableErrors }),
  'Connect over HTTP/2': (options: HttpOptions) => createConnectTransport({ ...options, httpVersion: '2' }),
  'gRPC-Web over HTTP/1.1': (options: HttpOptions) => createGrpcWebTransport(overHttp1(options)),
  'gRPC-Web over HTTP/2': (options: HttpOptions) => createGrpcWebTransport({ ...options, httpVersion: '2' }),
  'gRPC over HTTP/2': (options: HttpOptions) => createGrpcTransport(options),
} satisfies Record<string, (options: HttpOptions) => Transport>;

interface HttpOptions {
  readonly baseUrl: string;
  readonly interceptors: Interceptor[];
  readonly sessionManager: Http2SessionManager;
}

type TransportName = keyof typeof transports;

describe.each([
  ...(Object.keys(transports) as TransportName[]).map((name) => [name, 'the Connect port'] as const),
  // The gRPC port accepts gRPC of any client, not only of grpc-js.
  ['gRPC over HTTP/2', 'the gRPC port'] as const,
])('a connect-es client: %s on %s', (name, port) => {
  let orders: Client<typeof OrderService>;
  let sessionManager: Http2SessionManager;

  beforeAll(() => {
    const baseUrl = port === 'the gRPC port' ? `http://${stack.addresses[0]!}` : stack.connectUrl;
    sessionManager = new Http2SessionManager(baseUrl);
    const authorize: Interceptor = (next) => (request) => {
      request.header.set('authorization', `Bearer ${stack.tokens.operator}`);
      return next(request);
    };
    orders = createClient(
      OrderService,
      transports[name]({ baseUrl, interceptors: [authorize], sessionManager }),
    );
  });

  afterAll(() => sessionManager.abort());

  test('registers an order and gets it back as it was registered', async () => {
    const request = registration({ merchantId, orderNumber: newOrderNumber() });
    const registered = await orders.registerOrder(request);
    const { order } = await orders.getOrder(orderNamed(merchantId, String(request.orderNumber)));
    expect(order).toEqual(registered.order);
    expect(order).toMatchObject({
      status: OrderStatus.PENDING,
      amount: '100.50',
      deducted: '0.00',
      customerPhone: '0911223344',
    });
  });

  test('reads the code, reason, domain and every field issue of an error', async () => {
    const error: unknown = await orders.registerOrder(allWrong).catch((thrown: unknown) => thrown);
    const failure = describeFailure(error as ConnectError);
    expect(failure).toMatchObject({ code: 'InvalidArgument', reason: 'INVALID_FIELDS' });
    expect(Object.keys(failure.issues).sort().join(' ')).toBe(allWrongFields);
    expect((error as ConnectError).findDetails(ErrorInfoSchema)).toMatchObject([{ domain: 'gatehouse' }]);
  });

  test('gets a status for each item of a batch', async () => {
    const [good, other] = [newOrderNumber(), newOrderNumber()];
    const { results } = await orders.batchRegisterOrders({
      requests: [
        registration({ merchantId, orderNumber: good }),
        registration({ merchantId, orderNumber: newOrderNumber(), amount: '-1' }),
        registration({ merchantId, orderNumber: other }),
      ],
    });
    const described = results.map(({ result }) =>
      result.case === 'error' ? describeFailure(fromStatus(result.value)) : result.value?.order?.orderNumber,
    );
    expect(described).toEqual([
      good,
      { code: 'InvalidArgument', reason: 'INVALID_FIELDS', issues: { amount: expect.any(String) } },
      other,
    ]);
  });

  test('follows events and sees a new one as it is committed', async () => {
    const leave = new AbortController();
    // A merchant without events, because transactions on the same server can hold events back.
    const { id: ofNew } = await stack.createMerchant();
    let registered: Promise<unknown> | undefined;
    const seen: OrderEventType[] = [];
    const watch = orders.watchOrderEvents({ onlyNew: true, merchantId: ofNew }, { signal: leave.signal });
    const watching = (async () => {
      for await (const { event } of watch) {
        registered ??= orders.registerOrder(registration({ merchantId: ofNew }));
        await registered;
        if (event !== undefined) seen.push(event.type);
        if (seen.length === 1) leave.abort();
      }
    })();
    await expect(watching).rejects.toMatchObject({ code: 1 });
    expect(seen).toEqual([OrderEventType.CREATED]);
  });
});

const service = 'gatehouse.v1.OrderService';

const plainRegistration = (own: PlainMessage): PlainMessage =>
  plainOrder({ merchant_id: merchantId, order_number: newOrderNumber(), ...own });

/** The name of an order that is registered. */
const plainKey = (own: PlainMessage): PlainMessage => ({
  ...{ merchant_id: merchantId, environment: 'ENVIRONMENT_SANDBOX', order_number: 'G-1' },
  ...own,
});

const plainPayment = (own: PlainMessage): PlainMessage => ({
  merchant_id: merchantId,
  environment: 'ENVIRONMENT_SANDBOX',
  order_number: newOrderNumber(),
  amount: '7.25',
  currency: 'USD',
  phone: newPhone(),
  payment_option: 'walletb_ussd',
  ...own,
});

describe('a plain @grpc/grpc-js client made from the .proto files', () => {
  let client: PlainGrpcClient;
  beforeAll(() => {
    client = plainGrpcClient(stack.addresses[0]!, stack.tokens.operator);
  });
  afterAll(() => client.close());

  test('registers an order and gets it back by number and by id, and not without both', async () => {
    const order_number = newOrderNumber();
    const { response: registered } = await client.call(
      service,
      'RegisterOrder',
      plainRegistration({ order_number }),
    );
    expect(registered).toMatchObject({
      order: {
        order_number,
        amount: '7.25',
        status: 'ORDER_STATUS_PENDING',
        payment_type: 'PAYMENT_TYPE_API',
      },
      checkout_url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:8082\/c\/[\w-]{43,}$/),
      repeated: false,
    });
    const name = { merchant_id: merchantId, environment: 'ENVIRONMENT_SANDBOX' };
    const byNumber = await client.call(service, 'GetOrder', { ...name, order_number });
    const { order_id } = (registered as { order: { order_id: string } }).order;
    const byId = await client.call(service, 'GetOrder', { ...name, order_id });
    expect(byNumber.response).toMatchObject({ order: registered?.['order'] });
    expect(byId).toEqual(byNumber);
    const { error } = await client.call(service, 'GetOrder', name);
    expect(error?.violations).toMatchObject([{ field: 'order_number' }]);
  });

  test('decodes ErrorInfo and BadRequest from the trailer, all issues at once', async () => {
    const { error } = await client.call(service, 'StartDirectPayment', {
      ...{
        merchant_id: '',
        amount: '1.001',
        currency: 'ETB',
        phone: '0911',
        payment_option: 'walleta_wallet',
      },
    });
    expect(error).toMatchObject({ code: 3, info: { reason: 'INVALID_FIELDS', domain: 'gatehouse' } });
    const fields = error?.violations.map(({ field }) => field).sort();
    expect(fields?.join(' ')).toBe('amount environment merchant_id order_number payment_option phone');
    expect(error?.violations.every(({ description }) => description.length > 0)).toBe(true);
  });

  describe.each([
    ['BatchRegisterOrders', plainRegistration, 'amount'],
    ['BatchStartDirectPayments', plainPayment, 'phone'],
    ['BatchGetOrders', plainKey, 'environment'],
  ] as const)('%s', (method, item, badField) => {
    beforeAll(async () => {
      await client.call(service, 'RegisterOrder', plainRegistration({ order_number: 'G-1' }));
    });

    test('one invalid item does not affect the others, and results come in the sequence of the requests', async () => {
      const requests = [item({}), item({ [badField]: badField === 'environment' ? 0 : 'bad' }), item({})];
      const { response } = await client.call(service, method, { requests });
      const results = (
        response as { results: { result: string; response?: PlainMessage; error?: PlainMessage }[] }
      ).results;
      expect(results.map(({ result }) => result)).toEqual(['response', 'error', 'response']);
      expect(readStatus(results[1]!.error!)).toMatchObject({
        code: 3,
        info: { reason: 'INVALID_FIELDS', domain: 'gatehouse' },
        violations: [{ field: badField }],
      });
      const numbers = [0, 2].map(
        (index) => (results[index]!.response!['order'] as PlainMessage)['order_number'],
      );
      expect(numbers).toEqual([requests[0]!['order_number'], requests[2]!['order_number']]);
    });

    test.each([0, 501])('%d items are refused as a whole', async (count) => {
      const requests = Array.from({ length: count }, () => item({}));
      const { error } = await client.call(service, method, { requests });
      expect(error).toMatchObject({
        code: 3,
        info: { reason: 'INVALID_FIELDS' },
        violations: [{ field: 'requests', description: 'must have 1 to 500 items' }],
      });
    });

    test('500 items are answered', async () => {
      const requests = Array.from({ length: 500 }, () => item({}));
      const { response } = await client.call(service, method, { requests });
      const results = (response as { results: { result: string }[] }).results;
      expect(results.filter(({ result }) => result === 'response')).toHaveLength(500);
    });
  });

  test.each([
    ['RegisterOrder', plainRegistration],
    ['StartDirectPayment', plainPayment],
  ] as const)('%s with validate_only reports what is invalid, and writes nothing', async (method, item) => {
    const order_number = newOrderNumber();
    const good = await client.call(service, method, item({ order_number, validate_only: true }));
    const bad = await client.call(service, method, item({ order_number, amount: '0', validate_only: true }));
    expect(good.response).toMatchObject({ order: null, repeated: false });
    expect(bad.error).toMatchObject({ code: 3, violations: [{ field: 'amount' }] });
    expect(await storedOrders(order_number)).toBe(0);
  });

  test('validate_only inside a batch writes just the other items', async () => {
    const [checked, written] = [newOrderNumber(), newOrderNumber()];
    await client.call(service, 'BatchRegisterOrders', {
      requests: [
        plainRegistration({ order_number: checked, validate_only: true }),
        plainRegistration({ order_number: written }),
      ],
    });
    expect([await storedOrders(checked), await storedOrders(written)]).toEqual([0, 1]);
  });

  test('watches events: a keep-alive message at once, then each new event as it is committed', async () => {
    const order_number = newOrderNumber();
    // A merchant without events, because transactions on the same server can hold events back.
    const { id: merchant_id } = await stack.createMerchant();
    const watch = client.stream(service, 'WatchOrderEvents', { only_new: true, merchant_id });
    const seen: PlainMessage[] = [];
    for await (const message of watch) {
      seen.push(message as PlainMessage);
      if ((message as PlainMessage)['event'] !== null) break;
      const order = plainRegistration({ order_number, merchant_id });
      if (seen.length === 1) await client.call(service, 'RegisterOrder', order);
    }
    watch.cancel();
    expect(seen[0]).toMatchObject({ cursor: expect.stringMatching(/./), event: null });
    expect(seen.at(-1)).toMatchObject({
      event: { type: 'ORDER_EVENT_TYPE_CREATED', sequence: '1', order: { order_number } },
    });
  });
});

describe('buf curl', () => {
  type Port = 'the gRPC port' | 'the Connect port';
  /** Calls RegisterOrder, which it knows only by reflection. */
  const register = (port: Port, protocol: string, reflection: string, order: PlainMessage) =>
    bufCurl([
      '--http2-prior-knowledge',
      ...['--protocol', protocol, '-H', `authorization: Bearer ${stack.tokens.operator}`],
      ...['--reflect-protocol', reflection, '--reflect-header', '*', '-d', JSON.stringify(order)],
      `${port === 'the gRPC port' ? `http://${stack.addresses[0]!}` : stack.connectUrl}/${service}/RegisterOrder`,
    ]);

  test.each<[Port, string, string]>([
    ['the gRPC port', 'grpc', 'grpc-v1'],
    ['the gRPC port', 'grpc', 'grpc-v1alpha'],
    ['the Connect port', 'connect', 'grpc-v1'],
  ])(
    'registers an order on %s with the protocol %s and reflection %s',
    async (port, protocol, reflection) => {
      const order_number = newOrderNumber();
      const answer = await register(port, protocol, reflection, plainRegistration({ order_number }));
      expect(answer).toMatchObject({ exitCode: 0, stderr: '' });
      expect(JSON.parse(answer.stdout)).toMatchObject({
        order: { orderNumber: order_number, amount: '7.25' },
      });
      expect(await storedOrders(order_number)).toBe(1);
    },
  );
});

describe('JSON over Connect', () => {
  const post = async (method: string, body: object) => {
    const response = await postJson(`${stack.connectUrl}/${service}/${method}`, body, {
      authorization: `Bearer ${stack.tokens.operator}`,
    });
    return { status: response.status, answer: await response.json() };
  };
  const orderNumber = 'JSON-1';

  test.each([
    ['an undeclared field', 'RegisterOrder', { amuont: '7.25' }, 'key "amuont" is unknown'],
    [
      'an undeclared field inside a message',
      'BatchRegisterOrders',
      { requests: [{ resaon: '' }] },
      'key "resaon" is unknown',
    ],
    ['an unknown value of an enum', 'RegisterOrder', { environment: 'SANDBOX' }, '"SANDBOX"'],
  ])(
    '%s is refused with INVALID_ARGUMENT and its name, and nothing is written',
    async (_what, method, own, named) => {
      const body =
        method === 'RegisterOrder' ? plainRegistration({ order_number: orderNumber, ...own }) : own;
      expect(await post(method, body)).toEqual({
        status: 400,
        answer: {
          code: 'invalid_argument',
          message: expect.stringContaining(named),
          details: [
            expect.objectContaining({ debug: { reason: 'INVALID_FIELDS', domain: 'gatehouse' } }),
            expect.objectContaining({
              debug: { fieldViolations: [{ description: expect.stringContaining(named) }] },
            }),
          ],
        },
      });
      expect(await storedOrders(orderNumber)).toBe(0);
    },
  );

  test('a field is accepted under both names that protobuf gives it', async () => {
    const { order_number, ...others } = plainRegistration({});
    expect((await post('RegisterOrder', { orderNumber: order_number, ...others })).status).toBe(200);
  });

  test('a newer client that sends binary messages is understood, and unknown fields are ignored', async () => {
    const key = {
      merchantId,
      environment: Environment.SANDBOX,
      key: { case: 'orderId', value: 'ord_1' },
    } as const;
    // Field 1000, a text.
    const unknown = Uint8Array.of(0xc2, 0x3e, 1, 0x78);
    const known = toBinary(GetOrderRequestSchema, create(GetOrderRequestSchema, key));
    const response = await fetch(`${stack.connectUrl}/${service}/GetOrder`, {
      method: 'POST',
      headers: { 'content-type': 'application/proto', authorization: `Bearer ${stack.tokens.reader}` },
      body: Buffer.concat([known, unknown]),
    });
    expect(await response.json()).toMatchObject({ message: expect.stringContaining('order_id') });
  });
});
