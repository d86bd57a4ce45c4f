import { expect, test } from '@jest/globals';
import type { Span } from '../../../src/platform/tracing/span.ts';
import { collectSpans } from '../../support/span-collector.ts';
import { waitUntil } from '../../support/wait-until.ts';

const named = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7', isSampled: true };
const traceparent = `00-${named.traceId}-${named.spanId}-01`;

const begun = (span: Span | undefined): Span => {
  if (span === undefined) throw new Error('no span began');
  return span;
};

test('spans below each other have one trace, and name their parents', async () => {
  const before = Date.now();
  const { outer, inner, followed } = await collectSpans((tracing) => {
    const first = begun(tracing.beginAtEdge('outer', traceparent, { kind: 'server' }));
    const second = first.begin('inner');
    begun(tracing.follow('followed', traceparent, { kind: 'consumer' })).end();
    second.end();
    first.end();
  });
  const after = Date.now();

  expect(outer).toMatchObject({ kind: 'server', traceId: named.traceId, parentId: named.spanId });
  expect(inner).toMatchObject({ kind: 'internal', traceId: named.traceId, parentId: outer?.spanId });
  expect(followed).toMatchObject({ kind: 'consumer', traceId: named.traceId, parentId: named.spanId });
  expect(new Set([named, outer, inner, followed].map((span) => span?.spanId)).size).toBe(4);
  // Spans begin at a whole millisecond.
  for (const span of [outer, inner, followed]) {
    const times = [before - 1, span?.startedAt, span?.endedAt, after + 1].map(Number);
    expect(times).toEqual(times.toSorted((one, other) => one - other));
  }
});

test('spans name their process and the SDK that sent them', async () => {
  const { named: sent } = await collectSpans((tracing) => {
    begun(tracing.beginAtEdge('named', undefined, {})).end();
  });
  expect(sent?.resource).toEqual({
    'service.name': 'gatehouse-core',
    'service.version': '0',
    'service.instance.id': 'test',
    'telemetry.sdk.language': 'nodejs',
    'telemetry.sdk.name': 'opentelemetry',
    'telemetry.sdk.version': expect.any(String),
  });
});

test('a span without a parent begins a new trace', async () => {
  const { one, other } = await collectSpans((tracing) => {
    begun(tracing.beginAtEdge('one', undefined, {})).end();
    begun(tracing.beginAtEdge('other', undefined, {})).end();
  });
  for (const span of [one, other]) {
    expect(span?.parentId).toBe('');
    expect(span?.traceId).toMatch(/^(?!0+$)[0-9a-f]{32}$/);
  }
  expect(one?.traceId).not.toBe(other?.traceId);
});

test('a span has its latest attributes without absent ones, a bounded length of text, its links and its error', async () => {
  const links = Array.from({ length: 3 }, (_, index) => ({
    ...named,
    spanId: (index + 1).toString(16).padStart(16, '0'),
  }));
  const { renamed } = await collectSpans((tracing) => {
    const span = begun(
      tracing.beginAtEdge('named', undefined, {
        attributes: { kept: 1, absent: undefined, long: 'x'.repeat(999) },
      }),
    );
    span.rename('renamed');
    span.set({ kept: 2, added: 'text' });
    for (const link of links) span.link(link);
    span.end('timeout');
  });

  expect(renamed?.attributes).toEqual({
    ...{ kept: 2, long: 'x'.repeat(256), added: 'text' },
    'error.type': 'timeout',
  });
  expect(renamed?.isError).toBe(true);
  expect(renamed?.links).toEqual(links.map(({ traceId, spanId }) => ({ traceId, spanId })));
});

test('a span that has ended is sent once, and does not change', async () => {
  const spans = await collectSpans((tracing) => {
    const span = begun(tracing.beginAtEdge('ended', undefined, {}));
    span.end();
    span.rename('later');
    span.set({ later: true });
    span.link(named);
    span.end('later');
  });
  expect(Object.values(spans)).toMatchObject([{ name: 'ended', attributes: {}, links: [], isError: false }]);
});

test('a process that stops sends all spans that wait', async () => {
  const spans = await collectSpans((tracing) => {
    for (let ended = 0; ended < 2_048; ended += 1)
      begun(tracing.beginAtEdge(`span ${ended}`, undefined, {})).end();
  });
  expect(Object.keys(spans)).toHaveLength(2_048);
});

test.each([
  {
    loss: 'the collector refuses beside others',
    count: 1,
    // Three spans are rejected.
    answer: Buffer.from([10, 6, 8, 3, 18, 2, 110, 111]),
    reason: /Partial Success.*rejectedSpans/,
  },
  { loss: 'find no place in the queue', count: 5_000, answer: Buffer.of(), reason: /^Dropped [0-9]+ spans/ },
])('spans that $loss are logged', async ({ count, answer, reason }) => {
  const lines: unknown[] = [];
  const write = (line: string): void => void lines.push(JSON.parse(line));
  await collectSpans(
    async (tracing) => {
      const end = (): void => begun(tracing.beginAtEdge('one', undefined, {})).end();
      for (let ended = 0; ended < count; ended += 1) end();
      await waitUntil('the loss is logged', () => {
        end();
        return lines.length > 0;
      });
    },
    1,
    { answer, write },
  );
  expect(lines).toEqual([expect.objectContaining({ level: 'warn', warning: expect.stringMatching(reason) })]);
});
