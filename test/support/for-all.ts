import { test } from '@jest/globals';
import fc from 'fast-check';

/** Like `test.each`, with random inputs: the check must hold for all of them, by default for a hundred. */
export const forAll =
  <Inputs extends [unknown, ...unknown[]]>(
    arbitraries: { [Index in keyof Inputs]: fc.Arbitrary<Inputs[Index]> },
    parameters: fc.Parameters<Inputs> = {},
  ) =>
  (name: string, check: (...inputs: Inputs) => void): void =>
    test(name, () => fc.assert(fc.property(...arbitraries, check), parameters));
