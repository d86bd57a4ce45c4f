import { create } from '@bufbuild/protobuf';
import { checkText } from '../../contract/check-text.ts';
import { CheckFinding, CheckResult, CheckSchema } from '../../gen/gatehouse/v1/diagnostics_service_pb.js';
import type { Check, CheckSubject } from '../../gen/gatehouse/v1/diagnostics_service_pb.js';

/** The facts of a finding. */
export type CheckFacts = Partial<Pick<Check, 'facts' | 'pendingMigrations'>>;

function outcome(
  subject: CheckSubject,
  result: CheckResult,
  found: { readonly finding: CheckFinding } & CheckFacts,
): Check {
  const check = create(CheckSchema, { subject, result, ...found });
  // For clients that do not interpret the data.
  return Object.assign(check, checkText(check));
}

export const goodCheck = (subject: CheckSubject, facts: CheckFacts = {}): Check =>
  outcome(subject, CheckResult.OK, { ...facts, finding: CheckFinding.HEALTHY });

export const warningCheck = (subject: CheckSubject, finding: CheckFinding, facts: CheckFacts = {}): Check =>
  outcome(subject, CheckResult.WARNING, { ...facts, finding });

export const failedCheck = (subject: CheckSubject, finding: CheckFinding, facts: CheckFacts = {}): Check =>
  outcome(subject, CheckResult.FAILED, { ...facts, finding });

/** The outcome of a comparison: good if no order differs, and failed otherwise. */
export const agreementCheck = (
  subject: CheckSubject,
  facts: Extract<Check['facts'], { case: 'money' | 'orderHistories' }>,
): Check =>
  facts.value.differingCount === 0n
    ? goodCheck(subject, { facts })
    : failedCheck(subject, CheckFinding.DISAGREE, { facts });
