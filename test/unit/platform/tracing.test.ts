import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { cleanEnv } from 'envalid';
import { formatTraceparent, parseTraceparent } from '../../../src/platform/tracing/trace-context.ts';
import { tracingSettingsOf, tracingVariables } from '../../../src/platform/tracing/tracing-settings.ts';
import { readRestFacadeSettings } from '../../../src/rest-facade/settings.ts';
import type { ProcessEnvironment } from '../../../src/platform/settings/read-settings.ts';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const spanId = '00f067aa0ba902b7';

describe('traceparent', () => {
  test.each([
    [`00-${traceId}-${spanId}-01`, true],
    [`00-${traceId}-${spanId}-00`, false],
    [`00-${traceId}-${spanId}-ff`, true],
    [`cc-${traceId}-${spanId}-01`, true],
    [`cc-${traceId}-${spanId}-01-what-comes-later`, true],
  ])('%s is continued', (header, isSampled) => {
    expect(parseTraceparent(header)).toEqual({ traceId, spanId, isSampled });
  });

  test.each([
    undefined,
    '',
    `ff-${traceId}-${spanId}-01`,
    `00-${'0'.repeat(32)}-${spanId}-01`,
    `00-${traceId}-${'0'.repeat(16)}-01`,
    `00-${traceId.toUpperCase()}-${spanId}-01`,
    `00-${traceId}-${spanId}-01-more`,
    `cc-${traceId}-${spanId}-01.more`,
    `cc-${traceId}-${spanId}-01-${'x'.repeat(8_000)}`,
    `00-${traceId}-${spanId}-1`,
    ` 00-${traceId}-${spanId}-01`,
    `00-${traceId}-${spanId}-01, 00-${traceId}-${spanId}-01`,
  ])('header %# is ignored', (header) => {
    expect(parseTraceparent(header)).toBeUndefined();
  });

  test('is parsed as it was written, and any text is either parsed or ignored', () => {
    const hex = (length: number) =>
      fc.stringMatching(new RegExp(`^[0-9a-f]{${length}}$`)).filter((id) => !/^0+$/.test(id));
    fc.assert(
      fc.property(hex(32), hex(16), fc.boolean(), fc.string(), (trace, span, isSampled, noise) => {
        const context = { traceId: trace, spanId: span, isSampled };
        expect(parseTraceparent(formatTraceparent(context))).toEqual(context);
        expect(parseTraceparent(noise)).toBeUndefined();
      }),
    );
  });
});

describe('the settings of tracing', () => {
  const read = (own: ProcessEnvironment) => tracingSettingsOf(cleanEnv(own, tracingVariables));
  const endpoint = 'http://collector:4318';

  test.each([
    [{}, { endpoint: undefined }],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }, { endpoint: `${endpoint}/v1/traces`, ratio: 1 }],
    [
      { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${endpoint}/spans` },
      { endpoint: `${endpoint}/spans` },
    ],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_SDK_DISABLED: 'true' }, { endpoint: undefined }],
    [{ OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.01' }, { ratio: 0.01 }],
    [{ OTEL_TRACES_SAMPLER: 'always_off', OTEL_TRACES_SAMPLER_ARG: '0.01' }, { ratio: 0 }],
    [
      { OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=a%2Cb, service.name=pay' },
      {
        serviceName: 'pay',
        resourceAttributes: { 'deployment.environment.name': 'a,b', 'service.name': 'pay' },
      },
    ],
  ])('%j are parsed', (own, expected) => {
    expect(read(own)).toMatchObject(expected);
  });

  test.each([
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'http://collector:4318?token=a'],
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'authorization'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'authorization=%zz'],
    ['OTEL_TRACES_SAMPLER', 'jaeger_remote'],
    ['OTEL_TRACES_SAMPLER_ARG', '1.5'],
    ['OTEL_BSP_SCHEDULE_DELAY', 'soon'],
  ])('%s=%s stops the start with an error that names the variable', (name, value) => {
    const own = { GATEHOUSE_SERVICE_TOKEN: '0123456789abcdef01234567', [name]: value };
    expect(() => readRestFacadeSettings(own)).toThrow(name);
  });
});
