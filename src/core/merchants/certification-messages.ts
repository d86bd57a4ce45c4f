import { create } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import {
  CertificationPart as PartMessage,
  CertificationResult,
  CertificationSchema,
} from '../../gen/gatehouse/v1/merchant_service_pb.js';
import type {
  Certification as CertificationMessage,
  CertificationCheck,
  CertifiedPart as CertifiedPartMessage,
  RecordCertificationRequest,
} from '../../gen/gatehouse/v1/merchant_service_pb.js';
import type { CertificationPart, CertifiedCheck, CheckResult } from '../../contract/certification-checks.ts';
import { combine } from '../domain/combine.ts';
import type { Issue } from '../domain/issue.ts';
import { err, ok } from '../domain/result.ts';
import type { Result } from '../domain/result.ts';
import { parseText } from '../domain/text.ts';
import { valuesOrThrow } from '../rpc/request-fields.ts';
import type { Certification, CertificationRun, CertifiedPart } from './certifications.ts';

const maxChecks = 100;
const urlLength = 2048;
const versionLength = 32;

const partMessages: Readonly<Record<CertificationPart, PartMessage>> = {
  receiver: PartMessage.RECEIVER,
  integration: PartMessage.INTEGRATION,
};

const resultMessages: Readonly<Record<CheckResult, CertificationResult>> = {
  passed: CertificationResult.PASSED,
  failed: CertificationResult.FAILED,
  not_tested: CertificationResult.NOT_TESTED,
};

const keyOf = <Key extends string, Value>(
  record: Readonly<Record<Key, Value>>,
  wanted: Value,
): Key | undefined => (Object.keys(record) as Key[]).find((key) => record[key] === wanted);

/** Reads the results of a run. @throws INVALID_FIELDS */
export const parseCertification = ({
  webhookUrl,
  apiVersion,
  parts,
}: RecordCertificationRequest): CertificationRun =>
  valuesOrThrow(
    combine({
      webhookUrl: parseText(webhookUrl, 'webhook_url', { max: urlLength, required: true }),
      apiVersion: parseText(apiVersion, 'api_version', { max: versionLength, required: true }),
      parts: parseParts(parts),
    }),
  );

function parseParts(messages: readonly CertifiedPartMessage[]): Result<CertifiedPart[], Issue> {
  if (messages.length === 0) return err({ field: 'parts', issue: 'is required' });
  const parts: CertifiedPart[] = [];
  for (const message of messages) {
    const part = keyOf(partMessages, message.part);
    if (part === undefined || parts.some((each) => each.part === part))
      return err({ field: 'parts.part', issue: 'must be RECEIVER or INTEGRATION, each at most once' });
    const checks = parseChecks(message.checks);
    if (!checks.ok) return checks;
    parts.push({ part, checks: checks.value });
  }
  return ok(parts);
}

function parseChecks(messages: readonly CertificationCheck[]): Result<CertifiedCheck[], Issue> {
  const field = 'parts.checks';
  if (messages.length === 0 || messages.length > maxChecks)
    return err({ field, issue: `must contain 1 to ${maxChecks} checks` });
  const checks: CertifiedCheck[] = [];
  for (const { name, result: message } of messages) {
    const result = keyOf(resultMessages, message);
    if (result === undefined) return err({ field, issue: 'must each have a result' });
    if (!/^[a-z0-9_]{1,64}$/.test(name) || checks.some((check) => check.name === name))
      return err({
        field,
        issue: 'must each have a different name of 1 to 64 lower-case letters, digits and underscores',
      });
    checks.push({ name, result });
  }
  return ok(checks);
}

export const certificationMessage = (certification: Certification): CertificationMessage =>
  create(CertificationSchema, {
    part: partMessages[certification.part],
    certified: certification.certified,
    webhookUrl: certification.webhookUrl,
    apiVersion: certification.apiVersion,
    recordTime: timestampFromDate(certification.recordedAt),
    checks: certification.checks.map(({ name, result }) => ({ name, result: resultMessages[result] })),
  });

export const partMessagesOf = (parts: readonly CertificationPart[]): PartMessage[] =>
  parts.map((part) => partMessages[part]);
