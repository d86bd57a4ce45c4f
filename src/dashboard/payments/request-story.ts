import { ApiEndpoint } from '../../gen/gatehouse/v1/request_log_service_pb.js';
import type { ApiRequest } from '../../gen/gatehouse/v1/request_log_service_pb.js';
import { millisecondsOf, secondsIn } from './order-story.ts';
import type { StoryEntry, StoryWriting } from './order-story.ts';
import { numberFormat } from '../../platform/language/formats.ts';

/** The paths of the pages that show API requests. */
export interface RequestPages {
  readonly one: (request: ApiRequest) => string;
  /** The list of requests that verify the order. */
  readonly verifies: string;
}

/**
 * The requests about an order. A server that waits for a payment sends many verify requests. Requests with the same answer are
 * one entry, at the position of the first.
 */
export function requestEntries(
  requests: readonly ApiRequest[],
  pages: RequestPages,
  writing: StoryWriting,
): StoryEntry[] {
  const groups = Map.groupBy(requests, (request) =>
    request.endpoint === ApiEndpoint.VERIFY ? `${request.status} ${request.reason}` : request.apiRequestId,
  );
  return [...groups.values()].flatMap((group) => {
    const ordered = group.toSorted((a, b) => millisecondsOf(a.createTime) - millisecondsOf(b.createTime));
    const [first] = ordered;
    const last = ordered.at(-1);
    if (first === undefined || last === undefined) return [];
    if (ordered.length === 1) return [requestEntry(first, pages.one(first), writing)];
    const { story, language, timeZone } = writing;
    const seconds = secondsIn(language, timeZone);
    const times = story.times(
      numberFormat(language).format(ordered.length),
      seconds.format(millisecondsOf(first.createTime)),
      seconds.format(millisecondsOf(last.createTime)),
    );
    const entry = requestEntry(first, pages.verifies, writing);
    const reasons = first.reason === '' ? [] : [first.reason];
    return [{ ...entry, notes: [...reasons, times], steps: ordered.length }];
  });
}

function requestEntry(request: ApiRequest, href: string, { story, language }: StoryWriting): StoryEntry {
  const milliseconds = numberFormat(language, { maximumSignificantDigits: 2 }).format(
    Number(request.durationMicros) / 1000,
  );
  return {
    kind: 'request',
    at: request.createTime,
    tone: request.status >= 500 ? 'bad' : request.status >= 400 ? 'warn' : undefined,
    title: `${ApiEndpoint[request.endpoint].toLowerCase()} → ${request.status}`,
    notes: [...(request.reason === '' ? [] : [request.reason]), story.took(milliseconds), request.requestId],
    texts: [],
    href,
  };
}
