import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { request } from 'undici';

/** A registration or a direct payment that the merchant's integration sent. */
export interface PlacedOrder {
  readonly orderNumber: string;
  /** The fields of the request that certification uses; '' for missing ones. */
  readonly fields: Readonly<Record<(typeof usedFields)[number], string>>;
  readonly isDirect: boolean;
  readonly atMs: number;
}

const usedFields = ['amount', 'currency', 'reason', 'customer_phone', 'phone', 'return_url'] as const;

/** The action of the proxy on a request that places an order. */
export type Placement =
  | { readonly kind: 'forward' }
  /** The gateway carries the request out, and its answer is lost. */
  | { readonly kind: 'lose_answer' }
  | { readonly kind: 'delay_answer'; readonly ms: number }
  /** The gateway never sees the request. */
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body: object;
    };

/** The outcome of an order as verify reports it, in place of the gateway's. */
export interface SimulatedOutcome {
  readonly status: string;
  readonly deducted: string;
  readonly created_timestamp: string;
  readonly updated_timestamp: string;
}

/** A gateway for the merchant's integration, in front of the sandbox. */
export interface GatewayProxy {
  readonly origin: string;
  /** Requests that placed orders since the last `begin`, in order of their arrival. */
  readonly placed: () => readonly PlacedOrder[];
  /** The order numbers that were verified since the last `begin`. */
  readonly verified: () => readonly string[];
  /** The gateway's answers to placed orders since the last `begin`: status and text. */
  readonly answers: () => readonly { readonly status: number; readonly text: string }[];
  /** How many requests that placed orders were ended early by their sender since the last `begin`. */
  readonly givenUp: () => number;
  /** Forgets what was seen. `first`: what happens to the next placed order; later ones are forwarded. */
  readonly begin: (first: Placement) => void;
  /** From now on, verify reports this outcome of the order. */
  readonly simulate: (orderNumber: string, outcome: SimulatedOutcome) => void;
  /** Calls the listener after every request and answer. */
  readonly onChange: (listener: () => void) => () => void;
  readonly close: () => Promise<void>;
}

export interface GatewayProxyOptions {
  /** The address of the sandbox. */
  readonly gateway: URL;
  /** 0: any free port. */
  readonly port: number;
  readonly nowMs: () => number;
}

const hopHeaders = ['host', 'connection', 'keep-alive', 'content-length', 'transfer-encoding', 'expect'];
const maxBodyBytes = 64 * 1024;
const createsOrder = /\/(register|direct)$/;
const verifiesOrder = /\/verify$/;

/** Starts the proxy on this machine's loopback address. */
export async function startGatewayProxy({
  gateway,
  port,
  nowMs,
}: GatewayProxyOptions): Promise<GatewayProxy> {
  const listeners = new Set<() => void>();
  const changed = (): void => [...listeners].forEach((listener) => listener());
  const outcomes = new Map<string, SimulatedOutcome>();
  /** Numbers of orders before the last `begin`. Their late repeats are no new orders. */
  const earlier = new Set<string>();
  let seen = nothingSeen({ kind: 'forward' });

  const handle = async (message: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await readBody(message);
    const target = targetOf(gateway, message);
    const path = target.pathname;
    const isLive = String(message.headers['apikey'] ?? '').startsWith('svc_live_');
    const answerOf = async (): Promise<Answer> =>
      isLive ? liveKeyRefused : forwardToGateway(target, message, body);
    const placed = createsOrder.test(path) ? placedOrder(path, body, nowMs()) : undefined;
    if (placed === undefined || earlier.has(placed.orderNumber)) {
      const orderNumber = fieldsOf(body).order_number;
      const isVerify = verifiesOrder.test(path) && typeof orderNumber === 'string';
      if (isVerify) seen.verified.push(orderNumber);
      const answer = await answerOf();
      const outcome = isVerify ? outcomes.get(orderNumber) : undefined;
      sendAnswer(response, outcome === undefined ? answer : withOutcome(answer, outcome));
      changed();
      return;
    }
    const current = seen;
    const placement: Placement = current.placed.length === 0 ? current.first : { kind: 'forward' };
    current.placed.push(placed);
    response.on('close', () => {
      if (!response.writableEnded && placement.kind !== 'lose_answer') current.givenUp += 1;
      changed();
    });
    changed();
    if (placement.kind === 'answer') {
      const { status, headers = {}, body: json } = placement;
      const own = { 'content-type': 'application/json', ...headers };
      sendAnswer(response, { status, headers: own, text: JSON.stringify(json) });
      return;
    }
    const answer = await answerOf();
    current.answers.push({ status: answer.status, text: answer.text });
    changed();
    if (placement.kind === 'lose_answer') {
      message.socket.destroy();
      return;
    }
    if (placement.kind === 'delay_answer') await delayUntilClosed(response, placement.ms);
    sendAnswer(response, answer);
  };

  const server = createServer((message, response) => {
    handle(message, response).catch((error: unknown) => {
      const why = error instanceof Error ? error.message : String(error);
      const text = JSON.stringify({ code: 500, message: `the sandbox cannot be reached: ${why}` });
      sendAnswer(response, { status: 500, headers: { 'content-type': 'application/json' }, text });
    });
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    placed: () => seen.placed,
    verified: () => seen.verified,
    answers: () => seen.answers,
    givenUp: () => seen.givenUp,
    begin: (first) => {
      for (const { orderNumber } of seen.placed) earlier.add(orderNumber);
      seen = nothingSeen(first);
    },
    simulate: (orderNumber, outcome) => void outcomes.set(orderNumber, outcome),
    onChange: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

const nothingSeen = (first: Placement) => ({
  first,
  placed: [] as PlacedOrder[],
  verified: [] as string[],
  answers: [] as { status: number; text: string }[],
  givenUp: 0,
});

async function readBody(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of message) {
    length += (chunk as Buffer).length;
    if (length > maxBodyBytes) throw new Error(`the body exceeds ${maxBodyBytes} bytes`);
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks);
}

function fieldsOf(body: Buffer): Readonly<Record<string, unknown>> {
  try {
    const json: unknown = JSON.parse(body.toString('utf8'));
    return typeof json === 'object' && json !== null ? (json as Readonly<Record<string, unknown>>) : {};
  } catch {
    return {};
  }
}

function placedOrder(path: string, body: Buffer, atMs: number): PlacedOrder {
  const json = fieldsOf(body);
  const text = (name: string): string => (typeof json[name] === 'string' ? json[name] : '');
  const fields = Object.fromEntries(usedFields.map((name) => [name, text(name)])) as PlacedOrder['fields'];
  return { orderNumber: text('order_number'), fields, isDirect: path.endsWith('/direct'), atMs };
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

async function forwardToGateway(target: URL, message: IncomingMessage, body: Buffer): Promise<Answer> {
  const headers = Object.fromEntries(
    Object.entries(message.headers).filter(([name]) => !hopHeaders.includes(name)),
  );
  const answer = await request(target, {
    method: (message.method ?? 'POST') as 'POST',
    headers: { ...headers, 'accept-encoding': 'identity' },
    body: message.method === 'GET' || message.method === 'HEAD' ? null : body,
  });
  return { status: answer.statusCode, headers: answer.headers, text: await answer.body.text() };
}

function sendAnswer(response: ServerResponse, { status, headers, text }: Answer): void {
  if (response.destroyed) return;
  const kept = Object.entries(headers).filter(
    ([name, value]) => !hopHeaders.includes(name) && value !== undefined,
  );
  response.writeHead(status, Object.fromEntries(kept)).end(text);
}

const VerifyReply = Type.Object({ data: Type.Object({ status: Type.String() }) });

/** The gateway's answer to verify, with the simulated outcome of the order. */
function withOutcome(answer: Answer, outcome: SimulatedOutcome): Answer {
  const json: unknown = answer.status === 200 ? JSON.parse(answer.text) : undefined;
  if (!Value.Check(VerifyReply, json)) return answer;
  return { ...answer, text: JSON.stringify({ ...json, data: { ...json.data, ...outcome } }) };
}

const liveKeyRefused: Answer = {
  status: 401,
  headers: { 'content-type': 'application/json' },
  text: JSON.stringify({ code: 401, message: 'a certification forwards no live key; use a test key' }),
};

/** The requested path at the gateway, whatever host the request names. */
function targetOf(gateway: URL, { url = '/' }: IncomingMessage): URL {
  const asked = new URL(url.startsWith('/') ? `http://asked${url}` : url);
  const target = new URL(gateway);
  target.pathname = gateway.pathname.replace(/\/$/, '') + asked.pathname;
  target.search = asked.search;
  return target;
}

/** Waits for the time, or until the sender closes the connection. */
const delayUntilClosed = (response: ServerResponse, ms: number): Promise<void> =>
  new Promise((done) => {
    const timer = setTimeout(done, ms);
    response.on('close', () => {
      clearTimeout(timer);
      done();
    });
  });
