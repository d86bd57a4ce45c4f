import { measureCommitToReceipt } from '../webhooks/commit-to-receipt.ts';
import type { CommitToReceipt, CommitToReceiptOptions } from '../webhooks/commit-to-receipt.ts';
import { measureDispatching } from '../webhooks/dispatching.ts';
import type { Dispatching } from '../webhooks/dispatching.ts';
import { startReceiverProcess } from '../webhooks/receiver-process.ts';
import { startWholeSystem } from '../webhooks/whole-system.ts';

export interface WebhooksOptions extends CommitToReceiptOptions {
  /** The due deliveries of an endpoint that never answers. */
  readonly due: number;
  /** The deliveries of the measured throughput. */
  readonly deliveries: number;
}

export interface WebhooksReport extends CommitToReceipt {
  readonly dispatching: Dispatching;
}

const merchants = 100;
/** Deliveries a second whose latency is measured, with and without the hanging endpoint. */
const rate = 200;

/** From the commit of an order's end to the arrival of its webhook, on a separate system, and what one process can send. */
export async function measureWebhooks(options: WebhooksOptions): Promise<WebhooksReport> {
  const receiver = await startReceiverProcess();
  try {
    const system = await startWholeSystem(receiver.port, merchants);
    let chain: CommitToReceipt;
    try {
      chain = await measureCommitToReceipt(system, receiver, options);
    } finally {
      await system.stop();
    }
    return {
      ...chain,
      dispatching: await measureDispatching(receiver, { ...options, samples: 1_000, rate, merchants }),
    };
  } finally {
    await receiver.stop();
  }
}
