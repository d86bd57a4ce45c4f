import { create } from '@bufbuild/protobuf';
import { durationFromMs, timestampFromDate } from '@bufbuild/protobuf/wkt';
import { explanationText } from '../../contract/explanation-text.ts';
import {
  DeliveryCause as CauseMessage,
  DeliveryExplanationSchema,
  DeliveryNextStep as NextStepMessage,
  ExplainDeliveryResponseSchema,
  SigningSecretProblem,
} from '../../gen/gatehouse/v1/webhook_service_pb.js';
import type {
  DeliveryExplanation,
  ExplainDeliveryResponse,
} from '../../gen/gatehouse/v1/webhook_service_pb.js';
import type {
  DeliveryCause,
  DeliveryNextStep,
  Explanation,
  SecretProblem,
} from '../domain/explain-delivery.ts';
import type { StoredDelivery } from './delivery-reader.ts';
import type { StoredEndpoint } from './endpoint-reader.ts';
import { attemptMessage, deliveryMessage, endpointMessage, timeField } from './webhook-messages.ts';

const causes = {
  DELIVERED: CauseMessage.DELIVERED,
  ATTEMPTS_EXHAUSTED: CauseMessage.ATTEMPTS_EXHAUSTED,
  SCHEDULE_ENDED: CauseMessage.SCHEDULE_ENDED,
  ENDPOINT_PAUSED: CauseMessage.ENDPOINT_PAUSED,
  ENDPOINT_GONE: CauseMessage.ENDPOINT_GONE,
  WEBHOOK_ENDPOINT_DELETED: CauseMessage.WEBHOOK_ENDPOINT_DELETED,
  SIGNING_SECRET_NOT_SHOWN: CauseMessage.SIGNING_SECRET_NOT_SHOWN,
  SIGNING_SECRET_UNUSABLE: CauseMessage.SIGNING_SECRET_UNUSABLE,
  EARLIER_EVENT_PENDING: CauseMessage.EARLIER_EVENT_PENDING,
  CIRCUIT_OPEN: CauseMessage.CIRCUIT_OPEN,
  NOT_DUE: CauseMessage.NOT_DUE,
  OTHERS_FIRST: CauseMessage.OTHERS_FIRST,
  SENDING: CauseMessage.SENDING,
  NO_SENDER: CauseMessage.NO_SENDER,
} as const satisfies Record<DeliveryCause, CauseMessage>;

const nextSteps = {
  REDELIVER: NextStepMessage.REDELIVER,
  RESUME_ENDPOINT: NextStepMessage.RESUME_ENDPOINT,
  CREATE_SIGNING_SECRET: NextStepMessage.CREATE_SIGNING_SECRET,
  RESTORE_SIGNING_SECRET: NextStepMessage.RESTORE_SIGNING_SECRET,
  EXPLAIN_EARLIER: NextStepMessage.EXPLAIN_EARLIER,
  CHECK_WEBHOOKS: NextStepMessage.CHECK_WEBHOOKS,
  WAIT: NextStepMessage.WAIT,
  NONE: NextStepMessage.NONE,
} as const satisfies Record<DeliveryNextStep, NextStepMessage>;

const secretProblems = {
  KEY_MISSING: SigningSecretProblem.KEY_MISSING,
  KEY_WRONG: SigningSecretProblem.KEY_WRONG,
} as const satisfies Record<SecretProblem['kind'], SigningSecretProblem>;

/** A delivery with its explanation. The text beside it is for clients that do not interpret the data. */
export function explainedMessage(
  storedDelivery: StoredDelivery,
  storedEndpoint: StoredEndpoint,
  explained: Explanation,
): ExplainDeliveryResponse {
  const delivery = deliveryMessage(storedDelivery);
  const endpoint = endpointMessage(storedEndpoint);
  const explanation = explanationMessage(explained);
  const sentences = explanationText({ delivery, endpoint, explanation });
  return create(ExplainDeliveryResponseSchema, {
    delivery,
    endpoint,
    explanation,
    sentences: sentences.map(({ text, command }) => (command === '' ? text : `${text} ${command}`)),
    ...timeField('nextAttemptTime', explained.nextAttemptAt),
  });
}

function explanationMessage(explained: Explanation): DeliveryExplanation {
  const { schedule, lastAttempt, earlier, secretProblem } = explained;
  return create(DeliveryExplanationSchema, {
    cause: causes[explained.cause],
    nextSteps: explained.nextSteps.map((step) => nextSteps[step]),
    ...timeField('at', explained.at),
    explainTime: timestampFromDate(explained.explainedAt),
    ...(lastAttempt && { lastAttempt: attemptMessage(lastAttempt) }),
    scheduleAttempts: schedule.attempts,
    scheduleMaxAttempts: schedule.maxAttempts,
    scheduleDuration: durationFromMs(schedule.lastsMs),
    ...(earlier && { earlierDeliveryId: earlier.id, earlierEventType: earlier.eventType }),
    dueBeforeCount: explained.dueBefore,
    ...(secretProblem && {
      signingSecretProblem: secretProblems[secretProblem.kind],
      signingSecretId: secretProblem.secretId,
      encryptionKeyName: secretProblem.keyName,
    }),
  });
}
