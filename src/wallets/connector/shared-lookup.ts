import { lookup } from 'node:dns';
import type { LookupFunction } from 'node:net';

type WhenFound = Parameters<LookupFunction>[2];

/**
 * Looks up host names as the system does, but each name only once at a time. Calls during a look-up get its answer. The system's lookup
 * blocks one of Node's four threads until the name servers answer, which is ten seconds or more if they do not. Without this, the payments of one
 * wallet whose name servers are silent would block all threads, and no connection to another wallet could be opened.
 */
export function createSharedLookup(lookUp: LookupFunction = lookup): LookupFunction {
  const waiting = new Map<string, WhenFound[]>();
  return (name, options, whenFound) => {
    const { family, hints, all } = options;
    const question = JSON.stringify([name.toLowerCase(), family, hints, all]);
    const others = waiting.get(question);
    if (others !== undefined) {
      others.push(whenFound);
      return;
    }
    const asking = [whenFound];
    waiting.set(question, asking);
    lookUp(name, options, (...answer) => {
      waiting.delete(question);
      for (const tell of asking) tell(...answer);
    });
  };
}
