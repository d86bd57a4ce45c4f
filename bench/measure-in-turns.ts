import type { Contender, Measured, Sample } from './contender.ts';

const warmUpConnections = 64;

export interface Turns {
  readonly connections: readonly number[];
  readonly seconds: number;
  readonly repeats: number;
  readonly warmUpSeconds: number;
}

/**
 * Runs the contenders in turns, several times, so that other load on the machine affects all of them alike. Each group runs in
 * the reverse order every second time, because what a contender leaves to do costs the next one.
 */
export async function measureInTurns(
  groups: readonly (readonly Contender[])[],
  { connections, seconds, repeats, warmUpSeconds }: Turns,
): Promise<Measured[]> {
  const measured = new Map<string, Measured & { readonly samples: Sample[] }>();
  // V8 compiles a program while it runs: a request costs up to 1.8 times the CPU in the first ten thousands. These do not count.
  for (const contender of groups.flat()) await contender.run(warmUpConnections, warmUpSeconds);
  for (let repeat = 0; repeat < repeats; repeat += 1) {
    const inOrder = groups.flatMap((group) => (repeat % 2 === 0 ? group : group.toReversed()));
    for (const count of connections) {
      for (const { name, run } of inOrder) {
        const key = `${name} ${count}`;
        const entry = measured.get(key) ?? { contender: name, connections: count, samples: [] };
        measured.set(key, entry);
        const sample = await run(count, seconds);
        entry.samples.push(sample);
        console.log(
          `${name} @ ${count}: ${Math.round(sample.perSecond)}/s, p50 ${sample.p50_ms.toFixed(2)} ms` +
            (sample.failed > 0 ? `, ${sample.failed} FAILED` : ''),
        );
      }
    }
  }
  return [...measured.values()];
}
