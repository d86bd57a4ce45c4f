import { runChecks } from './check.ts';
import type { CheckReport } from './check.ts';
import { receiverChecks } from './receiver-checks.ts';
import { openWebhookSender } from './webhook-sender.ts';

export interface ReceiverCertification {
  readonly url: URL;
  /** The current secret, and the next one during a rotation. */
  readonly secrets: readonly [current: string, next?: string];
  readonly now: () => Date;
  readonly stop: AbortSignal;
  readonly onCheck: (report: CheckReport) => void;
  /** The time limit of one answer; 15 s, as Gatehouse has, when absent. */
  readonly answerMs?: number;
}

const standardAnswerMs = 15_000;

/** Certifies a receiver of webhooks by its HTTP answers. */
export async function certifyReceiver(options: ReceiverCertification): Promise<readonly CheckReport[]> {
  const { url, secrets, now, stop, onCheck, answerMs = standardAnswerMs } = options;
  const [secret, nextSecret] = secrets;
  const sender = openWebhookSender({ url, secret, answerMs, now, stop });
  try {
    const checks = receiverChecks({ sender, secret, nextSecret, answerMs, now });
    return await runChecks('receiver', checks, stop, onCheck);
  } finally {
    await sender.close();
  }
}
