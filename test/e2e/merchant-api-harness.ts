import { expect } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { ValidateFunction } from 'ajv/dist/2020.js';
import { startStack } from '../support/stack.ts';
import type { Stack, StackOptions } from '../support/stack.ts';
import { shared } from '../support/shared-stack.ts';

export type EnvironmentName = 'sandbox' | 'production';

/** A merchant with a key for each environment. */
export interface Shop {
  readonly merchantId: string;
  readonly keys: Readonly<Record<EnvironmentName, string>>;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly json: Readonly<Record<string, unknown>>;
}

type Body = string | Uint8Array<ArrayBuffer> | object;

export interface CallOptions {
  readonly environment?: EnvironmentName;
  /** Sent instead of the shop's own key for the environment; null sends no key. */
  readonly apiKey?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The merchant API of Gatehouse's processes, as merchants use it. */
export interface MerchantApi {
  readonly stack: Stack;
  readonly rest: Readonly<Record<EnvironmentName, string>>;
  readonly newShop: (options?: Parameters<Stack['createMerchant']>[0]) => Promise<Shop>;
  /** POSTs as a shop. Every answer of a documented endpoint is also checked against the published contract. */
  readonly post: (shop: Shop, path: string, body: Body, options?: CallOptions) => Promise<Answer>;
  readonly stop: () => Promise<void>;
}

/** Starts the processes on a database of their own. */
export async function startMerchantApi(options: StackOptions = {}): Promise<MerchantApi> {
  const stack = await startStack(options);
  const [facade] = stack.facades;
  if (facade === undefined) throw new TypeError('the stack has no facade');
  const { sandbox, production } = facade;
  const rest = { sandbox, production };
  const contract = await loadContract(sandbox);
  return {
    stack,
    rest,
    newShop: async (merchant) => {
      const { id, testKey, liveKey } = await stack.createMerchant(merchant);
      return { merchantId: id, keys: { sandbox: testKey, production: liveKey } };
    },
    post: async (shop, path, body, { environment = 'sandbox', apiKey, headers = {} } = {}) => {
      const key = apiKey === undefined ? shop.keys[environment] : apiKey;
      const response = await fetch(rest[environment] + path, {
        method: 'POST',
        headers: { ...(key === null ? {} : { apiKey: key }), 'content-type': 'application/json', ...headers },
        body: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body),
      });
      const text = await response.text();
      expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
      const json = JSON.parse(text) as Record<string, unknown>;
      contract(path, response.status, json);
      return { status: response.status, headers: response.headers, text, json };
    },
    stop: stack.stop,
  };
}

/** The merchant API for all tests of a file. */
export const sharedMerchantApi = (options: StackOptions = {}): MerchantApi =>
  shared(() => startMerchantApi(options));

/** A shop for all tests of a file. */
export const sharedShop = (api: MerchantApi, open = (): Promise<Shop> => api.newShop()): Shop =>
  shared(open, () => undefined);

/** Checks an answer against what the published OpenAPI document says of its path and status. */
type Contract = (path: string, status: number, json: unknown) => void;

async function loadContract(url: string): Promise<Contract> {
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as { paths: Record<string, unknown> };
  // The document is an OpenAPI document that contains schemas, so ajv must ignore its other keywords.
  const ajv = new Ajv2020({ strict: false, validateFormats: false, validateSchema: false, allErrors: true });
  ajv.addSchema(document, 'openapi.json');
  const validators = new Map<string, ValidateFunction>();
  return (target, status, json) => {
    const path = target.split('?', 1)[0] ?? '';
    if (!Object.hasOwn(document.paths, path)) return;
    const pointer = [
      'paths',
      path,
      'post',
      'responses',
      String(status),
      'content',
      'application/json',
      'schema',
    ]
      .map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1')))
      .join('/');
    const validate = validators.get(pointer) ?? ajv.compile({ $ref: `openapi.json#/${pointer}` });
    validators.set(pointer, validate);
    validate(json);
    expect({ path, status, json, problems: validate.errors ?? [] }).toEqual({
      path,
      status,
      json,
      problems: [],
    });
  };
}

let orderNumbers = 0;

/** An order number that no test of this run has used. */
export function newOrderNumber(): string {
  return `INV-${process.pid}-${Date.now()}-${++orderNumbers}`;
}

/** A complete registration with the changes of the test. */
export function registration(change: Readonly<Record<string, unknown>> = {}) {
  return {
    order_number: newOrderNumber(),
    return_url: 'https://shop.example/thanks?order=1',
    webhook_url: 'https://shop.example/hooks',
    amount: '100.50',
    currency: 'ETB',
    reason: 'Three books',
    customer_phone: '0911223344',
    ...change,
  };
}

/** A complete direct payment with the changes of the test. */
export function directPayment(change: Readonly<Record<string, unknown>> = {}) {
  return {
    amount: '100.50',
    currency: 'ETB',
    order_number: newOrderNumber(),
    phone: '0911223344',
    ...change,
  };
}

export const directPath = '/api/v1/direct?payment_option=walleta_ussd';

/** A body without one of its fields. */
export function without(body: Readonly<Record<string, unknown>>, field: string): Record<string, unknown> {
  return Object.fromEntries(Object.entries(body).filter(([name]) => name !== field));
}

/** The details of a 400, as field -> issue. */
export function issuesOf({ json }: Answer): Readonly<Record<string, string>> {
  const details = json['details'] as readonly { field: string; issue: string }[];
  return Object.fromEntries(details.map(({ field, issue }) => [field, issue]));
}
