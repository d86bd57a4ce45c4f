/**
 * How soon and how fast webhooks are sent, to a receiver in a process of its own, with a durable PostgreSQL: from the
 * commit of an order's end to the receipt, one order at a time and at a rate; deliveries a second with every attempt
 * stored; latency without and with very many deliveries due on a merchant's dead endpoint; memory over minutes. See
 * bench/webhooks/README.md.
 */
import { parseArgs } from 'node:util';
import { commitToReceiptInWords, measureCommitToReceipt } from './commit-to-receipt.ts';
import { measureDispatching } from './dispatching.ts';
import { startReceiverProcess } from './receiver-process.ts';
import { measureMemory } from './soak.ts';
import { startWholeSystem } from './whole-system.ts';

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: 'chain,dispatching,soak' },
    orders: { type: 'string', default: '500' },
    seconds: { type: 'string', default: '10' },
    repeats: { type: 'string', default: '3' },
    due: { type: 'string', default: '1000000' },
    samples: { type: 'string', default: '500' },
    rate: { type: 'string', default: '200' },
    deliveries: { type: 'string', default: '20000' },
    merchants: { type: 'string', default: '100' },
    minutes: { type: 'string', default: '10' },
    'soak-orders': { type: 'string', default: '50' },
  },
});
const only = new Set(options.only.split(','));
const merchants = Number(options.merchants);

const receiver = await startReceiverProcess();
try {
  if (only.has('chain') || only.has('soak')) {
    const system = await startWholeSystem(receiver.port, merchants);
    try {
      if (only.has('chain'))
        console.log(
          commitToReceiptInWords(
            await measureCommitToReceipt(system, receiver, {
              samples: Number(options.samples),
              rate: Number(options.orders),
              seconds: Number(options.seconds),
              repeats: Number(options.repeats),
            }),
          ),
        );
      if (only.has('soak'))
        await measureMemory(system, receiver, {
          minutes: Number(options.minutes),
          rate: Number(options['soak-orders']),
        });
    } finally {
      await system.stop();
    }
  }
  if (only.has('dispatching'))
    await measureDispatching(receiver, {
      due: Number(options.due),
      samples: Number(options.samples),
      rate: Number(options.rate),
      deliveries: Number(options.deliveries),
      merchants,
    });
} finally {
  await receiver.stop();
}
