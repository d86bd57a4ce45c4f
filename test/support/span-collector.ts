import { BinaryReader } from '@bufbuild/protobuf/wire';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createLogger } from '../../src/platform/logger.ts';
import { startTracing } from '../../src/platform/tracing/tracing.ts';
import type { Tracing } from '../../src/platform/tracing/tracing.ts';

/** A span as a collector receives it. Ids are hexadecimal; the parent of a root is empty. */
export interface ReceivedSpan {
  /** The attributes of the process. */
  readonly resource: Readonly<Record<string, unknown>>;
  readonly service: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentId: string;
  readonly name: string;
  readonly kind: 'internal' | 'server' | 'client' | 'producer' | 'consumer';
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly isError: boolean;
  /** Milliseconds since 1970, with fractions. */
  readonly startedAt: number;
  readonly endedAt: number;
}

/** A collector of OpenTelemetry over HTTP, which keeps what it receives. */
export interface SpanCollector {
  readonly url: string;
  readonly spans: readonly ReceivedSpan[];
  /** All bodies, as sent. */
  readonly bytes: () => Buffer;
  /** The headers of the latest request. */
  readonly headers: () => Readonly<Record<string, unknown>>;
  readonly close: () => Promise<void>;
}

/**
 * @param port - 0 takes any free one
 * @param answer - an ExportTraceServiceResponse
 */
export async function startSpanCollector(port = 0, answer: Uint8Array = Buffer.of()): Promise<SpanCollector> {
  const spans: ReceivedSpan[] = [];
  const bodies: Buffer[] = [];
  let headers: Readonly<Record<string, unknown>> = {};
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks);
      ({ headers } = request);
      bodies.push(body);
      if (request.url === '/v1/traces') spans.push(...spansOf(body));
      response.writeHead(request.url === '/v1/traces' ? 200 : 404).end(answer);
    });
  });
  await new Promise<void>((listening) => server.listen(port, '127.0.0.1', listening));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    bytes: () => Buffer.concat(bodies),
    headers: () => headers,
    close: () =>
      new Promise((closed) => {
        server.close(() => closed());
        server.closeAllConnections();
      }),
  };
}

/**
 * The spans, by name, that a collector receives when a process records this. It samples this ratio of new traces. `answer` is what the
 * collector answers, and `write` gets the warnings of the process.
 */
export async function collectSpans(
  record: (tracing: Tracing) => void | Promise<void>,
  ratio = 1,
  { answer, write = () => undefined }: { answer?: Uint8Array; write?: (line: string) => void } = {},
): Promise<Readonly<Record<string, ReceivedSpan | undefined>>> {
  const collector = await startSpanCollector(0, answer);
  const tracing = await startTracing({
    settings: {
      ...{ endpoint: `${collector.url}/v1/traces`, headers: {}, ratio, delayMs: 1 },
      ...{ resourceAttributes: {}, serviceName: undefined },
    },
    ...{ process: 'core', instance: 'test', version: '0' },
    logger: createLogger({ process: 'test', instance: 'test', level: 'warn' }, { write }),
    random: () => 0,
  });
  if (tracing === undefined) throw new Error('tracing is off');
  await record(tracing);
  await tracing.close();
  await collector.close();
  return Object.fromEntries(collector.spans.map((span) => [span.name, span]));
}

/*
 * The message ExportTraceServiceRequest by its field numbers (opentelemetry-proto, trace/v1/trace.proto). No package of this
 * project contains its schema.
 */

type Fields = ReadonlyMap<number, readonly (Uint8Array | bigint)[]>;

/** The fields of a message: bytes of those with a length, numbers of all others. */
function fieldsOf(bytes: Uint8Array): Fields {
  const fields = new Map<number, (Uint8Array | bigint)[]>();
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag();
    const wireType: number = type;
    const value =
      wireType === 2
        ? reader.bytes()
        : wireType === 0
          ? BigInt(reader.uint64())
          : wireType === 1
            ? BigInt(reader.fixed64())
            : BigInt(reader.fixed32());
    fields.set(number, [...(fields.get(number) ?? []), value]);
  }
  return fields;
}

const messages = (fields: Fields, number: number): Fields[] =>
  (fields.get(number) ?? []).map((value) => fieldsOf(value as Uint8Array));
const hex = (fields: Fields, number: number): string =>
  Buffer.from((fields.get(number)?.[0] as Uint8Array | undefined) ?? []).toString('hex');
const text = (fields: Fields, number: number): string =>
  Buffer.from((fields.get(number)?.[0] as Uint8Array | undefined) ?? []).toString();

const milliseconds = (fields: Fields, number: number): number => Number(fields.get(number)?.[0] ?? 0) / 1e6;

const kinds = ['internal', 'internal', 'server', 'client', 'producer', 'consumer'] as const;

const spansOf = (body: Uint8Array): ReceivedSpan[] =>
  messages(fieldsOf(body), 1).flatMap((resourceSpans) => {
    const [resource] = messages(resourceSpans, 1);
    const process = resource === undefined ? {} : attributesOf(messages(resource, 1));
    return messages(resourceSpans, 2)
      .flatMap((scope) => messages(scope, 2))
      .map((span) => ({
        resource: process,
        service: String(process['service.name']),
        traceId: hex(span, 1),
        spanId: hex(span, 2),
        parentId: hex(span, 4),
        name: text(span, 5),
        kind: kinds[Number(span.get(6)?.[0] ?? 0)] ?? 'internal',
        attributes: attributesOf(messages(span, 9)),
        links: messages(span, 13).map((link) => ({ traceId: hex(link, 1), spanId: hex(link, 2) })),
        startedAt: milliseconds(span, 7),
        endedAt: milliseconds(span, 8),
        isError: messages(span, 15).some((status) => status.get(3)?.[0] === 2n),
      }));
  });

function attributesOf(pairs: readonly Fields[]): Record<string, unknown> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const [value] = messages(pair, 2);
      if (value === undefined) return [text(pair, 1), undefined];
      return [text(pair, 1), value.has(1) ? text(value, 1) : Number(value.get(3)?.[0] ?? value.get(2)?.[0])];
    }),
  );
}
