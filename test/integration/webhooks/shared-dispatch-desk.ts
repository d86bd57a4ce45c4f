import { afterEach } from '@jest/globals';
import { shared } from '../../support/shared-stack.ts';
import { openDispatchDesk } from './dispatch-desk.ts';
import type { DispatchDesk } from './dispatch-desk.ts';

/** A desk for all tests of a file, which is reset after each. */
export function sharedDispatchDesk(): DispatchDesk {
  const desk = shared(openDispatchDesk);
  afterEach(() => desk.reset());
  return desk;
}
