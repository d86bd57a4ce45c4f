import { EnvError, makeExactValidator, str } from 'envalid';
import { baseUrl, httpUrl } from '../settings/address-settings.ts';
import { wholeNumber } from '../settings/number-settings.ts';

/** Pairs as OpenTelemetry writes them: `name=value,name=value`, percent-encoded. */
const pairs = makeExactValidator<Readonly<Record<string, string>>>((input) =>
  Object.fromEntries(
    input
      .split(',')
      .filter((pair) => pair.trim() !== '')
      .map((pair) => {
        const at = pair.indexOf('=');
        const name = pair.slice(0, Math.max(at, 0)).trim();
        if (name === '') throw new EnvError('must be name=value, or several separated by commas');
        try {
          return [name, decodeURIComponent(pair.slice(at + 1).trim())];
        } catch {
          throw new EnvError(`must have percent-encoded values; the value of ${name} is not percent-encoded`);
        }
      }),
  ),
);

const ratio = makeExactValidator<number>((input) => {
  if (!/^(?:0(?:\.[0-9]{1,9})?|1(?:\.0{1,9})?)$/.test(input))
    throw new EnvError('must be a number from 0 to 1, such as 0.01 for one request of a hundred');
  return Number(input);
});

/** The settings of tracing, under the names that OpenTelemetry gives them. The first one switches tracing on. */
export const tracingVariables = {
  OTEL_EXPORTER_OTLP_ENDPOINT: baseUrl({ default: undefined }),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: httpUrl({ default: undefined }),
  OTEL_EXPORTER_OTLP_HEADERS: pairs({ default: {} }),
  OTEL_EXPORTER_OTLP_PROTOCOL: str({ choices: ['http/protobuf'], default: 'http/protobuf' }),
  OTEL_TRACES_SAMPLER: str({
    choices: [
      'always_on',
      'always_off',
      'traceidratio',
      'parentbased_always_on',
      'parentbased_always_off',
      'parentbased_traceidratio',
    ],
    default: 'parentbased_always_on',
  }),
  OTEL_TRACES_SAMPLER_ARG: ratio({ default: 1 }),
  OTEL_SERVICE_NAME: str({ default: undefined }),
  OTEL_RESOURCE_ATTRIBUTES: pairs({ default: {} }),
  OTEL_BSP_SCHEDULE_DELAY: wholeNumber({ default: 5_000 }),
  OTEL_SDK_DISABLED: str({ choices: ['true', 'false'], default: 'false' }),
};

/** The values of `tracingVariables`. */
export interface TracingVariables {
  readonly OTEL_EXPORTER_OTLP_ENDPOINT: string | undefined;
  readonly OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: string | undefined;
  readonly OTEL_EXPORTER_OTLP_HEADERS: Readonly<Record<string, string>>;
  readonly OTEL_TRACES_SAMPLER: string;
  readonly OTEL_TRACES_SAMPLER_ARG: number;
  readonly OTEL_SERVICE_NAME: string | undefined;
  readonly OTEL_RESOURCE_ATTRIBUTES: Readonly<Record<string, string>>;
  readonly OTEL_BSP_SCHEDULE_DELAY: number;
  readonly OTEL_SDK_DISABLED: string;
}

export interface TracingSettings {
  /** Where spans are sent; undefined when tracing is off. */
  readonly endpoint: string | undefined;
  /** Sent with every request to the collector. */
  readonly headers: Readonly<Record<string, string>>;
  /** The share of the traces that begin here and are recorded, from 0 to 1. */
  readonly ratio: number;
  /** How long spans wait for others before they are sent together. */
  readonly delayMs: number;
  readonly serviceName: string | undefined;
  readonly resourceAttributes: Readonly<Record<string, string>>;
}

/** The meaning of the variables. */
export function tracingSettingsOf(variables: TracingVariables): TracingSettings {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: base, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: traces } = variables;
  const { OTEL_SERVICE_NAME: serviceName, OTEL_RESOURCE_ATTRIBUTES: resourceAttributes } = variables;
  const endpoint = traces ?? (base === undefined ? undefined : `${base}/v1/traces`);
  return {
    endpoint: variables.OTEL_SDK_DISABLED === 'true' ? undefined : endpoint,
    headers: variables.OTEL_EXPORTER_OTLP_HEADERS,
    ratio: ratioOf(variables),
    delayMs: variables.OTEL_BSP_SCHEDULE_DELAY,
    serviceName: serviceName ?? resourceAttributes['service.name'],
    resourceAttributes,
  };
}

/** A trace that a peer began follows the peer with every sampler, so that no trace has holes. */
function ratioOf({ OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: given }: TracingVariables): number {
  if (sampler.endsWith('always_on')) return 1;
  return sampler.endsWith('always_off') ? 0 : given;
}
