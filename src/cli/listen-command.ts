import type { JsonObject } from '@bufbuild/protobuf';
import { Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import type { Command } from 'commander';
import type { ListenToSandboxEventsResponse } from '../gen/gatehouse/v1/webhook_service_pb.js';
import { openForwarder } from './forward-webhook.ts';
import type { Forwarded } from './forward-webhook.ts';
import { receiveEvents } from './receive-events.ts';
import { merchantOption, namedMerchant } from './merchant-argument.ts';
import type { FindMerchant } from './merchant-argument.ts';
import { readUrl } from './options.ts';
import { jsonLine } from './output.ts';
import { quote } from './quote.ts';
import { shellWord } from '../contract/shell-word.ts';
import { printable } from './table.ts';
import { tokenOf } from './target.ts';
import type { Servers } from './target.ts';
import type { WebhookClients } from './webhooks/webhook-clients.ts';

export interface ListenParts {
  readonly stdout: (text: string) => void;
  /** Receives a line about the progress. */
  readonly report: (line: string) => void;
  /** Whether events are printed for scripts. */
  readonly isJson: boolean;
  readonly findMerchant: FindMerchant;
  readonly findWebhooks: () => Promise<Servers>;
  readonly openWebhooks: (addresses: readonly string[], token: string) => WebhookClients;
  readonly now: () => Date;
  readonly interruption: () => AbortSignal;
}

/** `listen` */
export function addListenCommand(program: Command, parts: ListenParts): void {
  program
    .command('listen')
    .description("print a merchant's sandbox events as they happen, and forward them, signed, to your server")
    .argument('[merchant_id]', 'mer_…; default: the demo merchant of npm start, otherwise the only merchant')
    .option('--forward <url>', 'forward each event to this URL, such as http://localhost:3000/hook', readUrl)
    .addOption(merchantOption())
    .action(async (argument: string | undefined, options: { forward?: URL; merchant?: string }) => {
      const { forward, merchant } = options;
      const named = namedMerchant(argument, merchant);
      const servers = await parts.findWebhooks();
      const merchantId = await parts.findMerchant(
        named ?? servers.demo?.merchantId,
        `gatehouse listen <merchant_id>${forward === undefined ? '' : ` --forward ${shellWord(forward.href)}`}`,
      );
      const clients = parts.openWebhooks(servers.addresses, tokenOf(servers, 'webhooks process'));
      try {
        await listenToEvents(clients.webhooks, { merchantId, forward, servers, parts });
      } finally {
        clients.close();
      }
    });
}

/** The time limit that receivers of real webhooks have too. */
const forwardMs = 15_000;

interface Listening {
  readonly merchantId: string;
  readonly forward: URL | undefined;
  readonly servers: Servers;
  readonly parts: ListenParts;
}

async function listenToEvents(webhooks: WebhookClients['webhooks'], listening: Listening): Promise<void> {
  const { merchantId, forward, parts } = listening;
  const { report, stdout, isJson } = parts;
  const stop = parts.interruption();
  const forwarder =
    forward && openForwarder({ url: forward, totalMs: forwardMs, nowMs: () => parts.now().getTime() });
  const reception = {
    webhooks,
    merchantId,
    onConnected: (isAgain: boolean) =>
      report(
        isAgain
          ? 'Reconnected. Events that happened in the meantime are not shown.'
          : openingLines(listening),
      ),
    onLost: () => report('The connection to the webhooks process was lost. Reconnecting…'),
  };
  try {
    for await (const event of receiveEvents(reception, stop)) {
      if (!isJson) stdout(`${showEvent(event)}\n`);
      const forwarded = await forwarder?.forward(event, stop);
      if (isJson) stdout(jsonLine(eventJson(event, forwarded)));
      else if (forwarded !== undefined && !stop.aborted) stdout(`${showForwarded(forwarded)}\n`);
    }
  } finally {
    await forwarder?.close();
  }
  report('Stopped listening.');
}

function openingLines({ merchantId, forward, servers: { demo } }: Listening): string {
  const opening = [
    `Listening to SANDBOX events of ${merchantId}:`,
    'payment links that are created, orders that complete, fail or expire, and refunds that complete or fail, from now on.',
    'Press Ctrl-C to stop.',
  ];
  if (forward === undefined)
    return [...opening, 'To forward them to your server, add: --forward http://localhost:3000/hook', ''].join(
      '\n',
    );
  const secret =
    demo?.merchantId === merchantId
      ? [
          'They are signed with this secret, unless you have replaced it:',
          `  test_webhook_secret in ${demo.path}`,
        ]
      : [
          'The signing secret was shown when it was created. List the secrets, or create a new one:',
          `  gatehouse webhook secret list ${merchantId} --environment sandbox`,
          `  gatehouse webhook secret rotate ${merchantId} --environment sandbox`,
        ];
  return [...opening, `Each event is forwarded once to ${printable(forward.href)}`, ...secret, ''].join('\n');
}

/** The displayed fields of a webhook's body. */
const Body = Type.Object({
  created_at: Type.String(),
  data: Type.Object({
    status: Type.String(),
    amount: Type.String(),
    currency: Type.String(),
  }),
});

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8');

/** The length of the longest type that is received here. */
const typeWidth = 'payment_link.created'.length;

/** One line: the time, the event, the order and the amount. */
function showEvent({ eventType, orderNumber, body }: ListenToSandboxEventsResponse): string {
  const { created_at, data } = Value.Parse(Body, JSON.parse(textOf(body)));
  const time = created_at.replace(/\.\d+Z$/, 'Z');
  return printable(
    [time, eventType.padEnd(typeWidth), orderNumber, data.status, `${data.amount} ${data.currency}`].join(
      '  ',
    ),
  );
}

const maxAnswerCharacters = 200;

/** The receiver's status, and the body of a refusal. */
function showForwarded({ status, durationMs, problem, answer }: Forwarded): string {
  if (problem !== '') return printable(`  not received: ${problem}`);
  if (status >= 200 && status < 300) return `  answered ${status} in ${durationMs} ms`;
  const quotedAnswer = quote(answer, maxAnswerCharacters);
  return printable(
    `  answered ${status} in ${durationMs} ms, so the delivery failed${quotedAnswer === '' ? '' : `\n  < ${quotedAnswer}`}`,
  );
}

/** The webhook with the exact text of its body, for scripts; `forwarded` is null when nothing was forwarded. */
function eventJson(event: ListenToSandboxEventsResponse, forwarded: Forwarded | undefined): JsonObject {
  const { eventId, eventType, orderNumber, headers, body } = event;
  return {
    event_id: eventId,
    event_type: eventType,
    order_number: orderNumber,
    headers: { ...headers },
    body: textOf(body),
    forwarded:
      forwarded === undefined
        ? null
        : { status: forwarded.status, duration_ms: forwarded.durationMs, problem: forwarded.problem },
  };
}
