import { CertificationPart } from '../../gen/gatehouse/v1/merchant_service_pb.js';
import type { GetCertificationsResponse } from '../../gen/gatehouse/v1/merchant_service_pb.js';
import { momentOf } from '../moment-text.ts';
import type { Writing } from './operator-writing.ts';

const words = {
  [CertificationPart.RECEIVER]: 'receiver',
  [CertificationPart.INTEGRATION]: 'integration',
} as const;

/** The certifications of a merchant, one line a part: those that are recorded, and those that production requires. */
export function certificationLines(
  { certifications, requiredParts }: GetCertificationsResponse,
  { words: texts, language, timeZone }: Writing,
): readonly string[] {
  const { certification } = texts.merchants;
  const parts = [CertificationPart.RECEIVER, CertificationPart.INTEGRATION] as const;
  return parts.flatMap((part) => {
    const name = certification[words[part]];
    const latest = certifications.find((each) => each.part === part);
    if (latest === undefined) return requiredParts.includes(part) ? [certification.missing(name)] : [];
    const time = momentOf(latest.recordTime, language, timeZone)?.text ?? '';
    return [latest.certified ? certification.passed(name, time) : certification.failed(name, time)];
  });
}

/** Why production is not activated. `missingParts`: core's words, separated by commas. */
export function uncertifiedText(missingParts: string, merchantId: string, { words: texts }: Writing): string {
  const { certification, activate } = texts.merchants;
  const names = missingParts
    .split(',')
    .map((part) => (part === 'integration' ? certification.integration : certification.receiver));
  return activate.uncertified(names.join(', '), merchantId);
}
