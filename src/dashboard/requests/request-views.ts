import { timestampDate } from '@bufbuild/protobuf/wkt';
import type { Timestamp } from '@bufbuild/protobuf/wkt';
import type { ApiRequest } from '../../gen/gatehouse/v1/request_log_service_pb.js';
import type { Language } from '../../platform/language/language.ts';
import { momentFormat } from '../../platform/language/moment-text.ts';
import { numberFormat } from '../../platform/language/formats.ts';
import type { requests } from '../language/english/requests.ts';
import type { Moment } from '../moment-text.ts';
import { endpoints } from './request-filter.ts';
import { parseJson } from '../../platform/parse-json.ts';

/** The language and time zone of the page. */
export interface Writing {
  readonly words: typeof requests;
  readonly language: Language;
  readonly timeZone: string;
}

export function requestRow(request: ApiRequest, writing: Writing) {
  const { words } = writing;
  return {
    id: request.apiRequestId,
    time: momentWithSeconds(request.createTime, writing),
    method: request.method,
    endpoint: words.endpoints[endpointName(request)],
    orderNumber: request.orderNumber,
    status: request.status,
    tone: request.status < 400 ? 'good' : request.status < 500 ? 'warn' : 'bad',
    reason: request.reason,
    took: tookText(request, writing),
  };
}

export function requestStory(request: ApiRequest, writing: Writing) {
  return {
    ...requestRow(request, writing),
    path: request.path,
    requestId: request.requestId,
    apiKeyId: request.apiKeyId,
    why: whyText(request, writing.words),
    problems: problemsIn(request.responseBody),
    requestBody: spreadOut(request.requestBody),
    responseBody: spreadOut(request.responseBody),
  };
}

function endpointName({ endpoint }: ApiRequest): keyof typeof endpoints {
  const names = Object.keys(endpoints) as (keyof typeof endpoints)[];
  return names.find((name) => endpoints[name] === endpoint) ?? 'register';
}

/** With seconds, because several requests may arrive within a second. */
function momentWithSeconds(time: Timestamp | undefined, { language, timeZone }: Writing): Moment | undefined {
  if (time === undefined) return undefined;
  const date = timestampDate(time);
  return { iso: date.toISOString(), text: momentFormat(language, timeZone, 'medium').format(date) };
}

const tookText = ({ durationMicros }: ApiRequest, { words, language }: Writing): string =>
  words.milliseconds(
    numberFormat(language, { maximumSignificantDigits: 2 }).format(Number(durationMicros) / 1000),
  );

function whyText({ status, reason }: ApiRequest, { reasons }: Writing['words']): string | undefined {
  if (status < 400) return undefined;
  if (status >= 500) return reason === 'RECOVERING' ? reasons.RECOVERING : reasons.ours;
  return Object.hasOwn(reasons, reason) ? reasons[reason as keyof typeof reasons] : reasons.other;
}

/** The details of a 400 (docs/merchant-api.md, "Errors"); none if the body was cut or has none. */
function problemsIn(body: string): { field: string; issue: string }[] {
  const { details } = (parseObject(body) ?? {}) as { readonly details?: unknown };
  if (!Array.isArray(details)) return [];
  return details.flatMap((detail: unknown) =>
    typeof detail === 'object' && detail !== null && 'field' in detail && 'issue' in detail
      ? [{ field: String(detail.field), issue: String(detail.issue) }]
      : [],
  );
}

/** The body as indented JSON; unchanged if it was cut. */
function spreadOut(text: string): string {
  const parsed = parseObject(text);
  return parsed === undefined ? text : JSON.stringify(parsed, undefined, 2);
}

function parseObject(text: string): object | undefined {
  const parsed = parseJson(text);
  return typeof parsed === 'object' && parsed !== null ? parsed : undefined;
}
