import { setTimeout as delay } from 'node:timers/promises';
import type { JsonObject } from '@bufbuild/protobuf';
import { durationMs } from '@bufbuild/protobuf/wkt';
import type { Duration } from '@bufbuild/protobuf/wkt';
import { Code, ConnectError } from '@connectrpc/connect';
import { RefundStatus } from '../gen/gatehouse/v1/order_pb.js';
import type { Environment, Refund } from '../gen/gatehouse/v1/order_pb.js';
import { CliError, exitCodes } from './cli-error.ts';
import type { CoreClients } from './core-clients.ts';
import { environmentWord } from './options.ts';
import type { orderKey } from './order-key.ts';
import { requireField } from './output.ts';
import type { Output } from './output.ts';
import { shellWord } from '../contract/shell-word.ts';
import { describeRefund, showRefundStatus } from './show-refund.ts';

interface Request {
  readonly merchantId: string;
  readonly environment: Environment;
  readonly order: ReturnType<typeof orderKey>;
  /** Empty for all that is not refunded yet. */
  readonly amount: string;
  readonly reason: string;
  readonly refundNumber: string;
}

export interface CreateParts {
  /** Whether the command made the refund_number, so that its user does not know it yet. */
  readonly isNewNumber: boolean;
  /** How long to wait for the outcome: `true` for the standard time, undefined for not at all. */
  readonly wait: Duration | true | undefined;
  readonly now: () => Date;
  readonly report: (line: string) => void;
  /** Receives a fact that the user may need although the command ends without output, even with --json. */
  readonly note: (text: string, json: JsonObject) => void;
}

const standardWaitMs = 60_000;
const pollIntervalMs = 300;

/**
 * Creates a refund, and waits for its outcome if the user wants that. The refund_number is printed before the call, so that
 * the command can be repeated safely whatever happens to it.
 */
export async function createAndFollow(
  refunds: CoreClients['refunds'],
  request: Request,
  { isNewNumber, wait, now, report, note }: CreateParts,
): Promise<Output> {
  const { refundNumber } = request;
  const command = commandOf(request, wait);
  if (isNewNumber) note(`The refund_number is ${refundNumber}`, { refund_number: refundNumber });
  const reply = await refunds.createRefund(request).catch((error: unknown): never => {
    throw isNewNumber && isUnanswered(error) ? repeatSafely(command, error) : error;
  });
  const created = requireField(reply.refund);
  if (reply.repeated) report('An earlier request had already created this refund.');
  if (wait === undefined) return describeRefund(created);
  const ended = await waitForEnd(refunds, created, wait === true ? standardWaitMs : durationMs(wait), {
    now,
    report,
  });
  return {
    ...describeRefund(ended),
    exitCode: ended.status === RefundStatus.COMPLETED ? exitCodes.ok : exitCodes.notCompleted,
  };
}

/** Whether core may have created the refund despite the failure. */
const isUnanswered = (error: unknown): error is ConnectError =>
  error instanceof ConnectError &&
  [Code.Unavailable, Code.DeadlineExceeded, Code.Canceled, Code.Unknown].includes(error.code);

const repeatSafely = (command: string, cause: ConnectError): CliError =>
  new CliError(
    exitCodes.unreachable,
    `core did not answer, so the refund may exist (${cause.rawMessage})`,
    `Repeat the command with the same refund_number, so that the money is returned once at most:\n${command}`,
  );

/** The whole command with its refund_number. */
function commandOf(
  { merchantId, environment, order, amount, reason, refundNumber }: Request,
  wait: CreateParts['wait'],
): string {
  const waits =
    wait === undefined ? [] : ['--wait', ...(wait === true ? [] : [`${durationMs(wait) / 1000}s`])];
  return [
    'gatehouse',
    'refund',
    'create',
    merchantId,
    order.value,
    '--environment',
    environmentWord(environment),
    ...(amount === '' ? [] : ['--amount', amount]),
    '--reason',
    reason,
    '--refund-number',
    refundNumber,
    ...waits,
  ]
    .map(shellWord)
    .join(' ');
}

/** A refund that awaits approval waits for a person, so the command does not wait for it. */
const isOpen = ({ status }: Refund): boolean =>
  [RefundStatus.REQUESTED, RefundStatus.SENT, RefundStatus.UNKNOWN].includes(status);

/** The refund when it has ended or awaits approval, or when that takes too long. */
async function waitForEnd(
  refunds: CoreClients['refunds'],
  created: Refund,
  waitMs: number,
  { now, report }: Pick<CreateParts, 'now' | 'report'>,
): Promise<Refund> {
  const { merchantId, refundId } = created;
  const endMs = now().getTime() + waitMs;
  let seen = created;
  while (isOpen(seen) && now().getTime() < endMs) {
    await delay(pollIntervalMs);
    const name = { case: 'refundId', value: refundId } as const;
    const current = requireField((await refunds.getRefund({ merchantId, name })).refund);
    if (current.status !== seen.status && isOpen(current)) report(`  ${showRefundStatus(current)}`);
    seen = current;
  }
  if (isOpen(seen)) report(`The wallet has not decided within ${Math.round(waitMs / 1000)} s.`);
  return seen;
}
