import type { Client } from '@connectrpc/connect';
import { timestampDate } from '@bufbuild/protobuf/wkt';
import type { Timestamp } from '@bufbuild/protobuf/wkt';
import { joinExplanations } from '../../src/contract/explain-order.ts';
import {
  OrderFact,
  OrderFactHolder,
  OrderNextStep,
} from '../../src/gen/gatehouse/v1/order_explanation_pb.js';
import type { OrderExplanation } from '../../src/gen/gatehouse/v1/order_explanation_pb.js';
import { Environment } from '../../src/gen/gatehouse/v1/order_pb.js';
import { OrderStoryService } from '../../src/gen/gatehouse/v1/order_story_service_pb.js';
import type { WebhookService } from '../../src/gen/gatehouse/v1/webhook_service_pb.js';
import { openDashboardDesk } from '../integration/dashboard/dashboard-desk.ts';
import type { DashboardVisitor } from '../support/dashboard-visitor.ts';
import { callSandbox } from '../support/sandbox-calls.ts';
import type { Stack, TestMerchant } from '../support/stack.ts';
import { openCommandLine } from './cli-harness.ts';
import type { CommandLine } from './cli-harness.ts';

/**
 * An explanation as one surface shows it. Every surface has the text. The dashboard shows the other facts in its
 * own words.
 */
export interface Shown {
  readonly text: string;
  readonly facts?: readonly string[];
}

/** The explanation of an order by gRPC, REST, the command line and the dashboard. */
export interface ExplanationSurfaces {
  readonly grpc: (order: ExplainedName) => Promise<Shown>;
  readonly rest: (order: ExplainedName) => Promise<Shown>;
  readonly cli: (order: ExplainedName) => Promise<Shown>;
  readonly dashboard: (order: ExplainedName) => Promise<Shown>;
  readonly commandLine: CommandLine;
  readonly close: () => Promise<void>;
}

export interface ExplainedName {
  readonly merchant: TestMerchant;
  readonly orderId: string;
  readonly orderNumber: string;
}

const environment = Environment.SANDBOX;
const isoOf = (time: Timestamp | undefined): string =>
  time === undefined ? '' : timestampDate(time).toISOString();
const word = (name: string | undefined): string => (name ?? '').toLowerCase();

const factsOf = (explained: OrderExplanation): readonly string[] => [
  word(OrderFact[explained.waitingFor]),
  word(OrderFactHolder[explained.heldBy]),
  word(OrderNextStep[explained.next]),
  explained.wallet,
  explained.reason,
  isoOf(explained.nextTime),
  isoOf(explained.sinceTime),
];

const unescaped = (html: string): string =>
  html.replaceAll('&#39;', "'").replaceAll('&quot;', '"').replaceAll('&amp;', '&');

/** The dashboard's text as the others write it: it has times by the clock of Addis Ababa, and the reason of a failure in words. */
const asElsewhere = (text: string): string =>
  text
    .replace('(insufficient funds in the wallet)', '(insufficient_funds)')
    .replace('(the order was cancelled)', '(cancelled)')
    .replaceAll(/\d{1,2} \w{3} \d{4}, [\d:]{8}/g, (local) => {
      const [day = '', time = ''] = new Date(`${local} GMT+0300`).toISOString().split(/[T.]/);
      return `${day} ${time} UTC`;
    });

export async function openExplanationSurfaces(stack: Stack): Promise<ExplanationSurfaces> {
  const stories = stack.client(OrderStoryService, 'reader');
  const webhooks: Client<typeof WebhookService> = stack.webhookClient('reader');
  const cli: CommandLine = await openCommandLine({
    GATEHOUSE_CORE_ADDRESSES: stack.addresses.join(),
    GATEHOUSE_WEBHOOKS_ADDRESSES: String(stack.webhooks[0]?.ready['grpc']),
    GATEHOUSE_SERVICE_TOKEN: stack.tokens.operator,
  });
  const desk = openDashboardDesk(stack);
  const visitor: DashboardVisitor = await desk.signedIn(await desk.users.operator());
  return {
    async grpc({ merchant: { id: merchantId }, orderId }) {
      const key = { case: 'orderId' as const, value: orderId };
      const { explanation: ofCore } = await stories.explainOrder({ merchantId, environment, key });
      if (ofCore === undefined) throw new Error('core sent no explanation');
      if (ofCore.waitingFor !== OrderFact.NOTHING)
        return { text: ofCore.englishText, facts: factsOf(ofCore) };
      const { explanation: ofWebhooks } = await webhooks.explainOrderDeliveries({
        merchantId,
        environment,
        orderId,
      });
      const explained = joinExplanations(ofCore, ofWebhooks);
      return { text: explained.englishText, facts: factsOf(explained) };
    },
    async rest({ merchant, orderNumber }) {
      const answer = await callSandbox(stack, merchant, 'explain', { order_number: orderNumber });
      if (answer.status !== 200) throw new Error(`${answer.status}: ${answer.text}`);
      const { text = '', waiting_for, held_by, next, wallet, reason, next_at, since } = answer.data;
      return { text, facts: [waiting_for, held_by, next, wallet, reason, next_at, since].map(String) };
    },
    async cli({ merchant: { id }, orderNumber }) {
      const told = (await cli.json('order', 'explain', id, orderNumber)) as Record<
        string,
        string | undefined
      >;
      const textOf = (name: string): string => told[name] ?? '';
      // The command line writes times without milliseconds that are zero.
      const time = (name: string): string =>
        textOf(name) === '' ? '' : new Date(textOf(name)).toISOString();
      const texts = ['waiting_for', 'held_by', 'next', 'wallet', 'reason'].map(textOf);
      return { text: textOf('english_text'), facts: [...texts, time('next_time'), time('since_time')] };
    },
    async dashboard({ merchant: { id }, orderId }) {
      const { status, body } = await visitor.get(`/m/${id}/sandbox/orders/${orderId}`);
      const text = /<p data-explanation><bdi>([^<]*)<\/bdi>/.exec(body)?.[1];
      if (text === undefined) throw new Error(`${status}: the page of ${orderId} has no explanation`);
      return { text: asElsewhere(unescaped(text)) };
    },
    commandLine: cli,
    close: () => cli.stop(),
  };
}
