import type { Duration, Timestamp } from '@bufbuild/protobuf/wkt';
import { timestampDate } from '@bufbuild/protobuf/wkt';
import { Environment as EnvironmentMessage } from '../../gen/gatehouse/v1/order_pb.js';
import type { DeliveryState as DeliveryStateMessage } from '../../gen/gatehouse/v1/webhook_service_pb.js';
import { idIssue, isPublicId } from '../../contract/public-id.ts';
import type { IdPrefix } from '../../contract/public-id.ts';
import {
  defaultPageSize,
  maxPageSize,
  pageTokenIssue,
  readPageToken,
} from '../../platform/rpc/page-token.ts';
import { invalidFields } from '../../platform/rpc/rpc-error.ts';
import type { DeliveryState, Environment } from '../domain/delivery.ts';
import { subscribedTypes } from '../domain/webhook-endpoint.ts';
import type { SubscribedType } from '../domain/webhook-endpoint.ts';
import { webhookUrlIssue } from '../domain/webhook-url.ts';
import { deliveryStates } from './webhook-messages.ts';

/**
 * Reads the fields of one request. For an invalid field it records the issue and returns a placeholder. `readFields` then
 * throws, so no caller uses the placeholder.
 */
export interface FieldReader {
  readonly id: (prefix: IdPrefix, text: string, field: string) => string;
  readonly optionalId: (prefix: IdPrefix, text: string, field: string) => string | undefined;
  readonly environment: (number: EnvironmentMessage) => Environment;
  /** Undefined when absent, which means both environments. */
  readonly optionalEnvironment: (number: EnvironmentMessage) => Environment | undefined;
  readonly states: (numbers: readonly DeliveryStateMessage[]) => DeliveryState[];
  /** Types of event that a webhook endpoint can receive. */
  readonly eventTypes: (texts: readonly string[]) => SubscribedType[];
  readonly endpoint: (text: string) => string;
  readonly optionalEndpoint: (text: string) => string | undefined;
  readonly url: (text: string, environment: EnvironmentMessage) => string;
  readonly time: (time: Timestamp | undefined, field: string) => Date;
  readonly optionalTime: (time: Timestamp | undefined, field: string) => Date | undefined;
  /** Records an issue at `field` when both are given and `to` is not later than `from`. */
  readonly order: (from: Date | undefined, to: Date | undefined, field: string) => void;
  /** Milliseconds, 0 to `max`; `standard` when absent. */
  readonly duration: (duration: Duration | undefined, field: string, standard: number, max: number) => number;
  readonly text: (text: string, field: string, maxLength: number) => string;
  /** The number of items: 50 when not given, and 500 for anything larger (AIP-158). */
  readonly pageSize: (size: number) => number;
  /** The position after which the page begins; undefined for the first page. */
  readonly pageToken: (token: string, filter: unknown, form: (text: string) => boolean) => string | undefined;
}

/**
 * The fields that `read` reads from a request.
 * @throws INVALID_ARGUMENT INVALID_FIELDS with every invalid field.
 */
export function readFields<T>(read: (fields: FieldReader) => T): T {
  const issues: { field: string; issue: string }[] = [];
  const fields = createReader((field, issue) => void issues.push({ field, issue }));
  const values = read(fields);
  if (issues.length > 0) throw invalidFields(issues);
  return values;
}

/** PostgreSQL stores the years 4713 BC to 294276. The accepted range is smaller, because no delivery is outside of it. */
const isSupportedTime = (date: Date): boolean =>
  date.getUTCFullYear() >= 1970 && date.getUTCFullYear() <= 9999;

/** Control characters, and characters that change the direction of the text after them. */
const unprintable = /[\p{Cc}\u202a-\u202e\u2066-\u2069]/u;

function createReader(note: (field: string, issue: string) => void): FieldReader {
  const noted = <T>(field: string, issue: string, value: T): T => {
    note(field, issue);
    return value;
  };
  const id: FieldReader['id'] = (prefix, text, field) =>
    isPublicId(prefix, text) ? text : noted(field, idIssue(prefix), text);

  const environment: FieldReader['environment'] = (number) => {
    if (number === EnvironmentMessage.SANDBOX) return 'SANDBOX';
    if (number === EnvironmentMessage.PRODUCTION) return 'PRODUCTION';
    return noted('environment', 'must be SANDBOX or PRODUCTION', 'SANDBOX' as const);
  };

  const endpoint: FieldReader['endpoint'] = (text) =>
    isEndpoint(text)
      ? text
      : noted(
          'endpoint',
          'must be scheme, host and port as endpoints are listed, such as https://shop.example or http://127.0.0.1:3000',
          text,
        );

  const time: FieldReader['time'] = (timestamp, field) => {
    if (timestamp === undefined) return noted(field, 'is required', new Date(0));
    const date = timestampDate(timestamp);
    return isSupportedTime(date) ? date : noted(field, 'must be a time from 1970 to 9999', new Date(0));
  };

  return {
    id,
    optionalId: (prefix, text, field) => (text === '' ? undefined : id(prefix, text, field)),
    environment,
    optionalEnvironment: (number) =>
      number === EnvironmentMessage.UNSPECIFIED ? undefined : environment(number),
    states(numbers) {
      const words = Object.keys(deliveryStates) as DeliveryState[];
      const known = words.filter((word) => numbers.includes(deliveryStates[word]));
      const isKnown = numbers.every((number) => known.some((word) => deliveryStates[word] === number));
      return isKnown ? known : noted('states', `must be ${words.join(', ')}`, known);
    },
    eventTypes(texts) {
      const known = subscribedTypes.filter((type) => texts.includes(type));
      return texts.every((text) => known.some((type) => type === text))
        ? known
        : noted('event_types', `must be ${subscribedTypes.join(', ')}, or empty for every type`, known);
    },
    endpoint,
    optionalEndpoint: (text) => (text === '' ? undefined : endpoint(text)),
    url(text, number) {
      const issue = webhookUrlIssue(
        text,
        number === EnvironmentMessage.PRODUCTION ? 'PRODUCTION' : 'SANDBOX',
      );
      return issue === undefined ? text : noted('url', issue, text);
    },
    time,
    optionalTime: (timestamp, field) => (timestamp === undefined ? undefined : time(timestamp, field)),
    order(from, to, field) {
      const isWrong = from !== undefined && to !== undefined && from >= to;
      if (isWrong) note(field, 'must be later than create_time_from');
    },
    duration(duration, field, standard, max) {
      if (duration === undefined) return standard;
      const ms = Number(duration.seconds) * 1000 + Math.floor(duration.nanos / 1_000_000);
      return ms >= 0 && duration.nanos >= 0 && ms <= max
        ? ms
        : noted(field, `must be 0s to ${max / 1000}s`, standard);
    },
    text(text, field, maxLength) {
      if (!text.isWellFormed() || unprintable.test(text))
        return noted(field, 'must be well-formed text without control characters, such as line breaks', text);
      return [...text].length <= maxLength
        ? text
        : noted(field, `must be at most ${maxLength} characters`, text);
    },
    pageSize(size) {
      if (size < 0) return noted('page_size', 'must not be negative', defaultPageSize);
      return size === 0 ? defaultPageSize : Math.min(size, maxPageSize);
    },
    pageToken(token, filter, form) {
      if (token === '') return undefined;
      const key = readPageToken(token, filter);
      if (key !== undefined && form(key)) return key;
      note(pageTokenIssue.field, pageTokenIssue.issue);
      return undefined;
    },
  };
}

/** Whether a text is an endpoint in the form of `endpointOf`. */
const isEndpoint = (text: string): boolean =>
  /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text;
