import { join } from 'node:path';
import { Type } from '@sinclair/typebox';
import type { Static } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { readIfThere } from '../local/private-file.ts';
import { DemoStopped } from './demo-stopped.ts';
import { parseJson } from '../../platform/parse-json.ts';

/** The part of `demo.json` that the demo needs. */
const demoFile = Type.Object({
  rest: Type.Object({ sandbox: Type.String() }),
  simulator: Type.String(),
  grpc: Type.String(),
  merchant: Type.Object({
    id: Type.String(),
    test_key: Type.String(),
    test_webhook_secret: Type.String(),
  }),
  tokens: Type.Object({ reader: Type.String() }),
});

const probeTimeoutMs = 3_000;

/** Finds the Gatehouse that `npm start` runs on a data folder. @throws DemoStopped when none runs */
export async function findRunning(dataFolder: string): Promise<{ demo: Static<typeof demoFile> }> {
  const path = join(dataFolder, 'demo.json');
  const text = await readIfThere(path);
  if (text === undefined) throw notRunning(`there is no ${path}`);
  const demo = parseJson(text);
  if (!Value.Check(demoFile, demo))
    throw notRunning(`${path} names no demo merchant, for example during a recovery`);
  const silent: string[] = [];
  for (const url of [`${demo.rest.sandbox}/readyz`, `${demo.simulator}/healthz`])
    if (!(await isAnswering(url))) silent.push(url);
  if (silent.length > 0) throw notRunning(`no answer from ${silent.join(' and ')}`);
  return { demo };
}

const notRunning = (why: string): DemoStopped =>
  new DemoStopped(
    [
      `Gatehouse is not running here (${why}).`,
      'Start it in another terminal with: npm start',
      'When it says that it is running, come back to: npm run demo',
    ].join('\n'),
  );

async function isAnswering(url: string): Promise<boolean> {
  try {
    return (await fetch(url, { signal: AbortSignal.timeout(probeTimeoutMs) })).ok;
  } catch {
    return false;
  }
}
