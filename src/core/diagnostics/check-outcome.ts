import { CheckResult } from '../../gen/gatehouse/v1/diagnostics_service_pb.js';

export interface CheckOutcome {
  readonly name: string;
  readonly result: CheckResult;
  readonly detail: string;
  /** What to do; empty when nothing is to be done. */
  readonly advice: string;
}

export const good = (name: string, detail: string): CheckOutcome => ({
  name,
  result: CheckResult.OK,
  detail,
  advice: '',
});

export const warning = (name: string, detail: string, advice: string): CheckOutcome => ({
  name,
  result: CheckResult.WARNING,
  detail,
  advice,
});

export const failed = (name: string, detail: string, advice: string): CheckOutcome => ({
  name,
  result: CheckResult.FAILED,
  detail,
  advice,
});
