import { fork } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import type { Step } from './move-merchant.ts';
import type { Gate } from './router.ts';

export interface MoverOptions {
  readonly sourceUrl: string;
  readonly targetUrl: string;
  /** In the stored form. */
  readonly merchantId: string;
  readonly masterKey: string;
  /** The step after which the process kills itself. */
  readonly endAfter?: Step;
}

export type FromMover =
  | { readonly type: 'hold'; readonly hold: number }
  | { readonly type: 'release'; readonly to: 'source' | 'target' }
  | { readonly type: 'reached'; readonly step: Step; readonly detail: string };
/** The requests wait. An answer that comes late names an earlier hold. */
export interface ToMover {
  readonly hold: number;
}

/** Runs a mover until it ends. Returns its exit code, or the signal that ended it. */
export async function runMover(
  options: MoverOptions,
  gate: Gate,
  report: (step: Step, detail: string) => void,
): Promise<number | NodeJS.Signals> {
  const child = fork(resolve(import.meta.dirname, 'mover.ts'), [JSON.stringify(options)]);
  child.on('message', (message: FromMover) => {
    if (message.type === 'reached') report(message.step, message.detail);
    else if (message.type === 'release') gate.release(message.to);
    else {
      const { hold } = message;
      void gate.hold().then(() => child.connected && child.send({ hold } satisfies ToMover));
    }
  });
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  return code ?? signal ?? 0;
}
