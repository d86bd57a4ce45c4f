import {
  CertificationPart as PartMessage,
  CertificationResult,
} from '../../gen/gatehouse/v1/merchant_service_pb.js';
import type { CertificationPart, CheckResult } from '../../contract/certification-checks.ts';
import { merchantApiVersion } from '../../merchant-api/version.ts';
import type { CoreClients } from '../core-clients.ts';
import { describeFailure } from '../failure.ts';
import type { Certification } from './certification.ts';
import type { Recording } from './recording.ts';

const partMessages: Readonly<Record<CertificationPart, PartMessage>> = {
  receiver: PartMessage.RECEIVER,
  integration: PartMessage.INTEGRATION,
};

const resultMessages: Readonly<Record<CheckResult, CertificationResult>> = {
  passed: CertificationResult.PASSED,
  failed: CertificationResult.FAILED,
  not_tested: CertificationResult.NOT_TESTED,
};

/** Records the results with core. Never rejects, because the report must be printed even when core is unavailable. */
export async function recordCertification(
  merchants: CoreClients['merchants'],
  merchantId: string,
  { webhookUrl, parts, checks }: Certification,
): Promise<Recording> {
  try {
    await merchants.recordCertification({
      merchantId,
      webhookUrl,
      apiVersion: merchantApiVersion,
      parts: parts.map((part) => ({
        part: partMessages[part],
        checks: checks
          .filter((check) => check.part === part)
          .map(({ name, result }) => ({ name, result: resultMessages[result] })),
      })),
    });
    return { note: `Recorded for ${merchantId}.`, json: { merchant_id: merchantId, recorded: true } };
  } catch (error) {
    const { message, advice, exitCode } = describeFailure(error, { addresses: [] });
    return {
      note: [`NOT recorded: ${message}`, advice].filter((line) => line !== '').join('\n'),
      json: { merchant_id: merchantId, recorded: false },
      exitCode,
    };
  }
}
