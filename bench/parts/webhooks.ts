import { measureCommitToReceipt } from '../webhooks/commit-to-receipt.ts';
import type { CommitToReceipt, CommitToReceiptOptions } from '../webhooks/commit-to-receipt.ts';
import { startReceiverProcess } from '../webhooks/receiver-process.ts';
import { startWholeSystem } from '../webhooks/whole-system.ts';

const merchants = 100;

/** The time from the commit of an order's end to the receipt of its webhook, on a separate system. */
export async function measureWebhooks(options: CommitToReceiptOptions): Promise<CommitToReceipt> {
  const receiver = await startReceiverProcess();
  try {
    const system = await startWholeSystem(receiver.port, merchants);
    try {
      return await measureCommitToReceipt(system, receiver, options);
    } finally {
      await system.stop();
    }
  } finally {
    await receiver.stop();
  }
}
