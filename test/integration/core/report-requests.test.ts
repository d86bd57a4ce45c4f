import { beforeAll, expect, test } from '@jest/globals';
import { timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt';
import { Environment } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { ReportService, ReportStep } from '../../../src/gen/gatehouse/v1/report_service_pb.js';
import { failureOf } from '../../support/rpc-failure.ts';
import { sharedStack, sharedClient } from '../../support/shared-stack.ts';

let merchantId: string;
const stack = sharedStack({ facades: 0 });
const reports = sharedClient(stack, ReportService, 'dashboard');
beforeAll(async () => {
  merchantId = (await stack.createMerchant()).id;
});

const reportOf = (from: string, to: string, timeZone: string) =>
  reports.getOrderReport({
    merchantId,
    environment: Environment.SANDBOX,
    fromTime: timestampFromDate(new Date(from)),
    toTime: timestampFromDate(new Date(to)),
    step: ReportStep.DAY,
    timeZone,
  });

test.each([
  ['Asia/Kathmandu', '2026-11-18T18:15Z', '2026-11-20T18:15Z', ['2026-11-18T18:15', '2026-11-19T18:15']],
  ['Europe/Berlin', '2026-10-24T22:00Z', '2026-10-26T23:00Z', ['2026-10-24T22:00', '2026-10-25T23:00']],
  ['', '2026-11-18T00:00Z', '2026-11-20T00:00Z', ['2026-11-18T00:00', '2026-11-19T00:00']],
])('a report in the time zone %j has the days of that time zone', async (timeZone, from, to, starts) => {
  const { intervals } = await reportOf(from, to, timeZone);

  expect(
    intervals.map(({ startTime }) => startTime && timestampDate(startTime).toISOString().slice(0, 16)),
  ).toEqual(starts);
});

test.each([
  ['to_time', '2026-11-18T00:00Z', '2026-11-20T00:10Z', 'UTC', 'full quarter of an hour'],
  ['to_time', '2026-11-18T00:00Z', '2026-11-18T00:00Z', 'UTC', '92 days'],
  ['to_time', '2026-01-01T00:00Z', '2026-04-04T00:00Z', 'UTC', '92 days'],
  ['time_zone', '2026-11-18T00:00Z', '2026-11-20T00:00Z', 'Asia/Nowhere', 'Africa/Addis_Ababa'],
])('a %s from %s to %s in %s is refused, and the error says what is allowed', async (...asked) => {
  const [field, from, to, timeZone, word] = asked;

  const { reason, issues } = await failureOf(reportOf(from, to, timeZone));

  expect(reason).toBe('INVALID_FIELDS');
  expect(issues[field]).toContain(word);
});
