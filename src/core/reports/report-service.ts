import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { Timestamp } from '@bufbuild/protobuf/wkt';
import { IANAZone } from 'luxon';
import { ReportService, ReportStep } from '../../gen/gatehouse/v1/report_service_pb.js';
import type { GetOrderReportRequest } from '../../gen/gatehouse/v1/report_service_pb.js';
import { storedId } from '../../contract/public-id.ts';
import { invalidFields } from '../../platform/rpc/rpc-error.ts';
import { rpcService } from '../../contract/rpc-service.ts';
import type { RpcService } from '../../platform/rpc/rpc-service.ts';
import type { FairCalls } from '../../platform/fair-calls.ts';
import type { Database } from '../database/database.ts';
import { combine } from '../domain/combine.ts';
import type { Issue } from '../domain/issue.ts';
import { err, ok } from '../domain/result.ts';
import type { Result } from '../domain/result.ts';
import { parseEnvironment } from '../rpc/environment.ts';
import { parseId, valuesOrThrow } from '../rpc/request-fields.ts';
import { parseTime } from '../rpc/time-fields.ts';
import { orderReport } from './order-report.ts';
import { stepStarts } from './step-starts.ts';
import type { Step } from './step-starts.ts';
import type { OptionCounts, OrderCounts } from './order-report.ts';
import { readBehindSince, readFirstSteps, readReport } from './read-report.sql.ts';
import type { ReportSpan } from './read-report.sql.ts';

const readers = ['dashboard', 'operator', 'reader'] as const;
const quarterMs = 900_000;
const dayMs = 86_400_000;
const maxDays = 92;

/** gatehouse.v1.ReportService. `searchFairly` limits the readings at a time, by merchant and environment. */
export function reportService({ pool }: Pick<Database, 'pool'>, searchFairly: FairCalls): RpcService {
  return rpcService(
    ReportService,
    {
      async getOrderReport(request, { signal }) {
        const span = parseSpan(request);
        const [behindSince, rows] = await searchFairly(
          { owner: `${span.environment} ${request.merchantId}` },
          signal,
          async () => [await readBehindSince(pool), await readReport(pool, span)] as const,
        );
        const report = orderReport(rows, span.starts.length);
        return {
          total: countsMessage(report.total),
          intervals: report.steps.map((counts, step) => ({
            startTime: timestampFromDate(span.starts[step] ?? span.to),
            counts: countsMessage(counts),
          })),
          failures: report.failures.map((failure) => ({ ...failure })),
          abandoned: report.abandoned.map((reason) => ({ ...reason })),
          options: report.options.map(optionMessage),
          ...timeField('behindSince', behindSince),
        };
      },
      async getFirstSteps(request, { signal }) {
        const { merchantId, environment } = valuesOrThrow(combine(parseScope(request)));
        const steps = await searchFairly({ owner: `${environment} ${merchantId}` }, signal, () =>
          readFirstSteps(pool, storedId('mer', merchantId), environment),
        );
        return {
          ...timeField('firstKeyTime', steps.first_key),
          ...timeField('firstOrderTime', steps.first_order),
          ...timeField('firstCompletedHour', steps.first_completed),
        };
      },
    },
    { getOrderReport: readers, getFirstSteps: readers },
  );
}

const parseScope = (request: Pick<GetOrderReportRequest, 'merchantId' | 'environment'>) => ({
  merchantId: parseId('mer', request.merchantId, 'merchant_id'),
  environment: parseEnvironment(request.environment),
});

/** @throws INVALID_ARGUMENT INVALID_FIELDS with every issue. */
function parseSpan(request: GetOrderReportRequest): ReportSpan {
  const { merchantId, environment, from, to, step, timeZone } = valuesOrThrow(
    combine({
      ...parseScope(request),
      from: parseQuarter(request.fromTime, 'from_time'),
      to: parseQuarter(request.toTime, 'to_time'),
      step: parseStep(request.step),
      timeZone: parseTimeZone(request.timeZone),
    }),
  );
  if (to <= from || to.getTime() - from.getTime() > maxDays * dayMs) {
    throw invalidFields([
      { field: 'to_time', issue: `must be after from_time, and at most ${maxDays} days later` },
    ]);
  }
  const starts = stepStarts({ from, to, step, timeZone });
  return { merchantId: storedId('mer', merchantId), environment, starts, to };
}

function parseQuarter(time: Timestamp | undefined, field: string): Result<Date, Issue> {
  const parsed = parseTime(time, field);
  if (!parsed.ok) return parsed;
  if (parsed.value === undefined) return err({ field, issue: 'is required' });
  return parsed.value.getTime() % quarterMs === 0
    ? ok(parsed.value)
    : err({ field, issue: 'must be a full quarter of an hour' });
}

const parseTimeZone = (name: string): Result<string, Issue> =>
  name === '' || IANAZone.isValidZone(name)
    ? ok(name || 'UTC')
    : err({
        field: 'time_zone',
        issue: 'must be a name of the IANA time zone database, such as Africa/Addis_Ababa',
      });

function parseStep(step: ReportStep): Result<Step, Issue> {
  switch (step) {
    case ReportStep.HOUR:
      return ok('hour');
    case ReportStep.DAY:
    case ReportStep.UNSPECIFIED:
      return ok('day');
    default:
      return err({ field: 'step', issue: 'must be HOUR or DAY' });
  }
}

const countsMessage = ({ collected, refunded, ...counts }: OrderCounts) => ({
  ...counts,
  collected: collected.map((amount) => ({ ...amount })),
  refunded: refunded.map((amount) => ({ ...amount })),
});

const optionMessage = ({ option, collected, refunded, ...counts }: OptionCounts) => ({
  ...counts,
  paymentOption: option,
  collected: collected.map((amount) => ({ ...amount })),
  refunded: refunded.map((amount) => ({ ...amount })),
});

/** The field of an optional time. Without a time, there is no field. */
const timeField = <Name extends string>(name: Name, at: Date | null): Partial<Record<Name, Timestamp>> =>
  at === null ? {} : ({ [name]: timestampFromDate(at) } as Partial<Record<Name, Timestamp>>);
