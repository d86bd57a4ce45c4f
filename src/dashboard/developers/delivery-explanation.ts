import { durationMs } from '@bufbuild/protobuf/wkt';
import { DeliveryCause, DeliveryNextStep } from '../../gen/gatehouse/v1/webhook_service_pb.js';
import type { ExplainDeliveryResponse } from '../../gen/gatehouse/v1/webhook_service_pb.js';
import { momentOf } from '../moment-text.ts';
import type { Writing } from './webhook-views.ts';
import { numberFormat } from '../../platform/language/formats.ts';

/** A sentence, with a link if a page is about it. */
interface Step {
  readonly text: string;
  readonly href?: string;
}

interface Page {
  /** The path of the webhook pages. */
  readonly path: string;
  /** Whether the user may change webhooks. */
  readonly mayChange: boolean;
}

/** The reason for the state of a delivery, and the actions that the user may take. */
export function deliveryExplanation(answer: ExplainDeliveryResponse, writing: Writing, page: Page) {
  const { language, timeZone, words } = writing;
  const next = momentOf(answer.nextAttemptTime, language, timeZone);
  return {
    sentences: [
      ...causeTexts(answer, writing),
      ...(next === undefined ? [] : [words.delivery.why.next(next.text)]),
    ],
    steps: stepsOf(answer, writing, page),
  };
}

function causeTexts(answer: ExplainDeliveryResponse, { words, language }: Writing): readonly string[] {
  const { why } = words.delivery;
  const { explanation, endpoint } = answer;
  const number = (value: number): string => numberFormat(language).format(value);
  if (explanation === undefined) throw new TypeError('webhooks explained a delivery and did not send it');
  const attempt = [
    why.attempt(number(explanation.scheduleAttempts + 1), number(explanation.scheduleMaxAttempts)),
  ];
  switch (explanation.cause) {
    case DeliveryCause.DELIVERED:
      return [why.delivered];
    case DeliveryCause.ATTEMPTS_EXHAUSTED:
      return [why.exhausted(number(explanation.scheduleAttempts))];
    case DeliveryCause.SCHEDULE_ENDED: {
      const lasts = explanation.scheduleDuration;
      return [why.scheduleEnded(number(lasts === undefined ? 0 : Math.round(durationMs(lasts) / 3_600_000)))];
    }
    case DeliveryCause.ENDPOINT_PAUSED:
      return [why.paused];
    case DeliveryCause.ENDPOINT_GONE:
      return [why.gone];
    case DeliveryCause.SIGNING_SECRET_UNUSABLE:
      return [why.secret];
    case DeliveryCause.SIGNING_SECRET_NOT_SHOWN:
      return [why.secretNotShown];
    case DeliveryCause.WEBHOOK_ENDPOINT_DELETED:
      return [why.endpointDeleted];
    case DeliveryCause.EARLIER_EVENT_PENDING:
      return [why.earlier(explanation.earlierEventType)];
    case DeliveryCause.CIRCUIT_OPEN:
      return [why.circuitOpen(number(endpoint?.consecutiveFailures ?? 0)), ...attempt];
    case DeliveryCause.OTHERS_FIRST:
      return [why.others(number(explanation.dueBeforeCount))];
    case DeliveryCause.SENDING:
      return [why.sending];
    case DeliveryCause.NO_SENDER:
      return [why.noSender];
    case DeliveryCause.NOT_DUE:
    case DeliveryCause.UNSPECIFIED:
      return attempt;
  }
}

function stepsOf(
  { explanation, delivery }: ExplainDeliveryResponse,
  { words }: Writing,
  { path, mayChange }: Page,
): readonly Step[] {
  const { steps } = words.delivery;
  const endpointId = delivery?.webhookEndpointId ?? '';
  /** A webhook endpoint has its pause and its secrets on its own page. */
  const ownPage = endpointId === '' ? undefined : `${path}/endpoints/${endpointId}`;
  return (explanation?.nextSteps ?? []).flatMap((step): readonly Step[] => {
    // Every user of the page may read another delivery.
    if (!mayChange && step !== DeliveryNextStep.EXPLAIN_EARLIER) return [];
    switch (step) {
      case DeliveryNextStep.REDELIVER:
        // The page has a button for this. After a success it is not recommended.
        return explanation?.cause === DeliveryCause.DELIVERED ? [] : [{ text: steps.redeliver }];
      case DeliveryNextStep.RESUME_ENDPOINT:
        return [{ text: steps.resume, href: ownPage ?? path }];
      case DeliveryNextStep.CREATE_SIGNING_SECRET:
        return [{ text: steps.createSecret, href: ownPage ?? `${path}/secrets` }];
      case DeliveryNextStep.RESTORE_SIGNING_SECRET:
        return [{ text: steps.restore, href: ownPage ?? `${path}/secrets` }];
      case DeliveryNextStep.EXPLAIN_EARLIER: {
        const href = `${path}/deliveries/${explanation?.earlierDeliveryId ?? ''}`;
        return [{ text: steps.earlier, href }];
      }
      case DeliveryNextStep.CHECK_WEBHOOKS:
        return [{ text: steps.checkWebhooks }];
      case DeliveryNextStep.WAIT:
      case DeliveryNextStep.NONE:
      case DeliveryNextStep.UNSPECIFIED:
        return [];
    }
  });
}
