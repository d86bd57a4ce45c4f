import type { FastifyInstance } from 'fastify';
import type { GetPipelineStatusResponse } from '../../gen/gatehouse/v1/webhook_service_pb.js';
import { panel } from '../ask.ts';
import type { Dashboard } from '../dashboard.ts';
import { momentOf } from '../moment-text.ts';
import { checkRows } from './check-rows.ts';
import { numberText, writingFor } from './operator-writing.ts';
import type { Writing } from './operator-writing.ts';

/** The checks of core's that are about the way of events. */
const relayChecks = new Set(['event relay', 'event order', 'broker']);

/** The page on which operators see how events get from orders to webhooks, and where they wait. */
export function addPipeline(app: FastifyInstance, { clients, sendPage, timeZone }: Dashboard): void {
  app.get('/operator/pipeline', async (request, reply) => {
    const writing = writingFor(request, timeZone);
    const [checks, webhooks] = await Promise.all([
      panel(request, async (options) => {
        const answer = await clients.diagnostics.diagnose({}, options);
        return checkRows(answer.checks, writing).filter(({ name }) => relayChecks.has(name));
      }),
      panel(request, async (options) =>
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
  const trouble = (number: bigint) => ({ text: count(number), tone: number > 0n ? 'warn' : undefined });
  return {
    intake: [
      { label: words.isTakingIn, ...yesNo(status.isTakingIn) },
      { label: words.broker, ...yesNo(status.isBrokerConnected) },
      { label: words.eventLag, text: status.eventLag === undefined ? words.unknown : count(status.eventLag) },
      { label: words.lastIntake, time: at(status.intakeTime), text: words.unknown },
      { label: words.reconciled, time: at(status.reconcileTime), text: words.unknown },
      { label: words.repaired, ...trouble(status.repairedCount) },
    ],
    sending: [
      { label: words.due, text: count(status.dueCount) },
      ...(status.oldestDueTime === undefined
        ? []
        : [{ label: words.oldestDue, time: at(status.oldestDueTime), text: '' }]),
      { label: words.pending, text: count(status.pendingCount) },
      { label: words.resting, ...trouble(status.restingEndpoints) },
      { label: words.paused, text: count(status.pausedEndpoints) },
      { label: words.givenUp, ...trouble(status.givenUpCount) },
      { label: words.oldKey, text: count(status.secretsWithOldKey) },
    ],
    gaps: status.gaps,
  };
}
