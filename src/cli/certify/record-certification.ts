import { Code, ConnectError } from '@connectrpc/connect';
import {
  CertificationPart as PartMessage,
  CertificationResult,
} from '../../gen/gatehouse/v1/merchant_service_pb.js';
import type { CertificationPart, CheckResult } from '../../contract/certification-checks.ts';
import { merchantApiVersion } from '../../merchant-api/version.ts';
import { pause } from '../../platform/pause.ts';
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

export interface RecordOptions {
  /** The cores, for the description of a failure. */
  readonly addresses: readonly string[];
  /** The time between two tries. */
  readonly pauseMs: number;
  readonly stop: AbortSignal;
}

/** How often an unavailable core is called: the run took minutes, and cannot be recorded afterwards. */
const maxTries = 10;

/**
 * Records the results with core, which may be restarting. Never rejects, because the report must be printed even when core is
 * unavailable.
 */
export async function recordCertification(
  merchants: CoreClients['merchants'],
  merchantId: string,
  { webhookUrl, parts, checks }: Certification,
  { addresses, pauseMs, stop }: RecordOptions,
): Promise<Recording> {
  const record = async (triesLeft: number): Promise<void> => {
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
    } catch (error) {
      if (triesLeft === 0 || stop.aborted || ConnectError.from(error).code !== Code.Unavailable) throw error;
      await pause(pauseMs, stop);
      await record(triesLeft - 1);
    }
  };
  try {
    await record(maxTries - 1);
    return { note: `Recorded for ${merchantId}.`, json: { merchant_id: merchantId, recorded: true } };
  } catch (error) {
    const { message, advice, exitCode } = describeFailure(error, { addresses });
    return {
      note: [`NOT recorded: ${message}`, advice].filter((line) => line !== '').join('\n'),
      json: { merchant_id: merchantId, recorded: false },
      exitCode,
    };
  }
}
