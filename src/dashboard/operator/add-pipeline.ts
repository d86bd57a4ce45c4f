import type { FastifyInstance } from 'fastify';
import { CheckSubject } from '../../gen/gatehouse/v1/diagnostics_service_pb.js';
import { ReconcilerFindingCode } from '../../gen/gatehouse/v1/webhook_service_pb.js';
import type { GetPipelineStatusResponse } from '../../gen/gatehouse/v1/webhook_service_pb.js';
import { loadPanel } from '../try-call.ts';
import type { Dashboard } from '../dashboard.ts';
import { momentOf } from '../moment-text.ts';
import { checkRows } from './check-rows.ts';
import { numberText, writingFor } from './operator-writing.ts';
import type { Writing } from './operator-writing.ts';

/** Core's checks of the event pipeline. */
const relayChecks = new Set([CheckSubject.EVENT_RELAY, CheckSubject.EVENT_ORDER, CheckSubject.BROKER]);

/** The page on which operators see the pipeline from orders to webhooks, and where events wait. */
export function addPipeline(app: FastifyInstance, { clients, sendPage, timeZone }: Dashboard): void {
  app.get('/operator/pipeline', async (request, reply) => {
    const writing = writingFor(request, timeZone);
    const [checks, webhooks] = await Promise.all([
      loadPanel(request, async (options) => {
        const answer = await clients.diagnostics.diagnose({}, options);
        return checkRows(answer.checks, writing).filter(({ subject }) => relayChecks.has(subject));
      }),
      loadPanel(request, async (options) =>
        facts(await clients.webhooks.getPipelineStatus({}, options), writing),
      ),
    ]);
    return sendPage(request, reply, {
      template: 'operator/pipeline',
      title: writing.words.pipeline.title,
      area: 'operatorPipeline',
      words: writing.words,
      view: { checks, webhooks, endpoints: '/operator/endpoints' },
    });
  });
}

function facts(status: GetPipelineStatusResponse, writing: Writing) {
  const words = writing.words.pipeline;
  const count = (number: bigint): string => numberText(number, writing);
  const yesNo = (is: boolean) => ({ text: is ? words.yes : words.no, tone: is ? 'good' : 'bad' });
  const at = (time: GetPipelineStatusResponse['intakeTime']) =>
    momentOf(time, writing.language, writing.timeZone);
  const problems = (number: bigint) => ({ text: count(number), tone: number > 0n ? 'warn' : undefined });
  return {
    intake: [
      { label: words.isIngesting, ...yesNo(status.isTakingIn) },
      { label: words.broker, ...yesNo(status.isBrokerConnected) },
      { label: words.eventLag, text: status.eventLag === undefined ? words.unknown : count(status.eventLag) },
      { label: words.lastIntake, time: at(status.intakeTime), text: words.unknown },
      { label: words.reconciled, time: at(status.reconcileTime), text: words.unknown },
      { label: words.repaired, ...problems(status.repairedCount) },
    ],
    sending: [
      { label: words.due, text: count(status.dueCount) },
      ...(status.oldestDueTime === undefined
        ? []
        : [{ label: words.oldestDue, time: at(status.oldestDueTime), text: '' }]),
      { label: words.pending, text: count(status.pendingCount) },
      { label: words.resting, ...problems(status.restingEndpoints) },
      { label: words.paused, text: count(status.pausedEndpoints) },
      { label: words.givenUp, ...problems(status.givenUpCount) },
      { label: words.oldKey, text: count(status.secretsWithOldKey) },
    ],
    gaps: gapRows(status, writing),
  };
}

/** Findings that the reconciler could not repair. A finding that this version does not know has only its English text. */
function gapRows({ findings }: GetPipelineStatusResponse, { words }: Writing) {
  const texts = words.pipeline.findings;
  return findings.map((finding) => {
    switch (finding.code) {
      case ReconcilerFindingCode.EVENTS_MISSING:
        return { text: texts.eventsMissing(finding.orderId, finding.missingSequences.join(', ')) };
      case ReconcilerFindingCode.HISTORIES_DISAGREE: {
        const { orderHistories: facts } = finding;
        return {
          text:
            facts === undefined
              ? texts.disagree
              : texts.historiesDisagree(String(facts.differingCount), facts.orderIds.join(', ')),
        };
      }
      case ReconcilerFindingCode.DELIVERY_CREATED:
        return { text: texts.created(finding.eventId) };
      default:
        return { text: finding.detail, isEnglish: true };
    }
  });
}
