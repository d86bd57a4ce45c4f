/**
 * Measures how soon and how fast webhooks are sent, to a receiver in a separate process, with a durable PostgreSQL. The first part is the
 * time from the commit of an order's end to the arrival, one order at a time and at a rate. The others are deliveries a second with every
 * attempt stored, latency beside very many due deliveries of a hanging endpoint, and memory over minutes. See bench/webhooks/README.md.
 */
import { benchmark, namesOf, positiveNumber, wholeNumber } from '../command-line.ts';
import { commitToReceiptInWords, measureCommitToReceipt } from './commit-to-receipt.ts';
import { measureDispatching } from './dispatching.ts';
import { startReceiverProcess } from './receiver-process.ts';
import { measureMemory } from './soak.ts';
import { startWholeSystem } from './whole-system.ts';

const parts = ['chain', 'dispatching', 'soak'] as const;

interface Options {
  readonly only: readonly (typeof parts)[number][];
  readonly orders: number;
  readonly seconds: number;
  readonly repeats: number;
  readonly due: number;
  readonly samples: number;
  readonly rate: number;
  readonly deliveries: number;
  readonly merchants: number;
  readonly minutes: number;
  readonly soakOrders: number;
}

const { only, orders, seconds, repeats, due, samples, rate, deliveries, merchants, minutes, soakOrders } =
  benchmark('bench:webhooks', 'Measures how soon and how fast webhooks are sent.')
    .option('--only <names>', `parts to run, of ${parts.join(', ')}`, namesOf(parts), parts)
    .option('--orders <number>', 'orders a second that end, in chain', wholeNumber, 500)
    .option('--seconds <number>', 'duration of one run, in chain', wholeNumber, 10)
    .option('--repeats <number>', 'runs, in chain', wholeNumber, 3)
    .option('--due <number>', 'due deliveries of an endpoint that never answers', wholeNumber, 1_000_000)
    .option('--samples <number>', 'deliveries whose latency is measured', wholeNumber, 500)
    .option('--rate <number>', 'deliveries a second whose latency is measured', wholeNumber, 200)
    .option('--deliveries <number>', 'deliveries of the measured throughput', wholeNumber, 20_000)
    .option('--merchants <number>', 'merchants with an endpoint', wholeNumber, 100)
    .option('--minutes <number>', 'duration of soak', positiveNumber, 10)
    .option('--soak-orders <number>', 'orders a second that end, in soak', wholeNumber, 50)
    .parse()
    .opts<Options>();

const receiver = await startReceiverProcess();
try {
  if (only.includes('chain') || only.includes('soak')) {
    const system = await startWholeSystem(receiver.port, merchants);
    try {
      if (only.includes('chain'))
        console.log(
          commitToReceiptInWords(
            await measureCommitToReceipt(system, receiver, {
              samples,
              rate: orders,
              seconds,
              repeats,
            }),
          ),
        );
      if (only.includes('soak'))
        await measureMemory(system, receiver, {
          minutes,
          rate: soakOrders,
        });
    } finally {
      await system.stop();
    }
  }
  if (only.includes('dispatching'))
    await measureDispatching(receiver, {
      due,
      samples,
      rate,
      deliveries,
      merchants,
    });
} finally {
  await receiver.stop();
}
