import { isCertified } from '../../contract/certification-checks.ts';
import type { CertificationPart, CheckResult } from '../../contract/certification-checks.ts';
import { merchantApiVersion } from '../../merchant-api/version.ts';
import { exitCodes } from '../cli-error.ts';
import type { Output } from '../output.ts';
import { adviceLines, table } from '../table.ts';
import { interrupted } from './check.ts';
import type { CheckReport } from './check.ts';
import type { Recording } from './recording.ts';

/** The outcome of a run. */
export interface Certification {
  readonly at: Date;
  readonly webhookUrl: string;
  readonly parts: readonly CertificationPart[];
  readonly checks: readonly CheckReport[];
}

const marks: Readonly<Record<CheckResult, string>> = { passed: 'ok', failed: 'FAIL', not_tested: '-' };

const titles: Readonly<Record<CertificationPart, string>> = {
  receiver: 'Webhook receiver',
  integration: 'Integration',
};

const countOf = (checks: readonly CheckReport[], result: CheckResult): number =>
  checks.filter((check) => check.result === result).length;

/** Passed checks in percent, rounded down, so that 100 means all. */
const scoreOf = (checks: readonly CheckReport[]): number =>
  checks.length === 0 ? 0 : Math.floor((100 * countOf(checks, 'passed')) / checks.length);

const ofPart = ({ checks }: Certification, part: CertificationPart): readonly CheckReport[] =>
  checks.filter((check) => check.part === part);

/** The report for people and for programs. */
export function certificationOutput(certification: Certification, recording?: Recording): Output {
  const { at, webhookUrl, parts, checks } = certification;
  const results = parts.map((part) => ({ part, certified: isCertified(part, ofPart(certification, part)) }));
  const isEnough = results.every(({ certified }) => certified);
  return {
    json: {
      certification: 1,
      time: at.toISOString(),
      api_version: merchantApiVersion,
      webhook_url: webhookUrl,
      result: isEnough ? 'passed' : 'failed',
      score: scoreOf(checks),
      parts: results,
      checks: checks.map((check) => ({ ...check })),
      ...recording?.json,
    },
    text: (width) =>
      [
        ...parts.map((part) => showPart(part, ofPart(certification, part), width)),
        ...results.map(({ part, certified }) => verdictText(part, certified, ofPart(certification, part))),
        ...(recording === undefined ? [] : [recording.note]),
      ].join('\n\n'),
    exitCode: recording?.exitCode ?? (isEnough ? exitCodes.ok : exitCodes.notCertified),
  };
}

function showPart(part: CertificationPart, checks: readonly CheckReport[], width: number): string {
  const tested = checks.filter(({ result }) => result !== 'not_tested');
  const rows = tested.map(({ name, result, seen, fix }) => [
    `  ${marks[result]}`,
    name,
    fix === '' ? seen : `${seen}\n${adviceLines(fix)}`,
  ]);
  const untested = checks.filter(({ result }) => result === 'not_tested');
  const reasons = [...new Set(untested.map(({ seen }) => seen))].map((reason) => {
    const names = untested.filter(({ seen }) => seen === reason).map(({ name }) => name);
    return [`  ${marks.not_tested}`, 'not tested', `${reason}:\n${names.join(', ')}`];
  });
  const columns = [{ head: '' }, { head: '' }, { head: '', wraps: true }];
  return `${titles[part]}\n${table(columns, [...rows, ...reasons], width)}`;
}

function verdictText(part: CertificationPart, certified: boolean, checks: readonly CheckReport[]): string {
  const [failures, untested] = [countOf(checks, 'failed'), countOf(checks, 'not_tested')];
  const score = [
    `${countOf(checks, 'passed')} of ${checks.length} checks passed (${scoreOf(checks)}%)`,
    ...(failures === 0 ? [] : [`${failures} failed`]),
    ...(untested === 0 ? [] : [`${untested} not tested`]),
  ].join(', ');
  const verdict = `${titles[part]}: ${certified ? 'certified' : 'NOT certified'}. ${score}.`;
  if (certified) return verdict;
  const isInterrupted = checks.some(({ seen }) => seen === interrupted.seen);
  const next = isInterrupted
    ? 'The run was interrupted. Run the command again.'
    : failures > 0
      ? 'Follow the lines that begin with >, and run the command again.'
      : 'Provide what the untested checks need, and run the command again.';
  return `${verdict}\n${next}`;
}
