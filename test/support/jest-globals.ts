import type * as jestGlobals from '@jest/globals';

export type Globals = Omit<typeof jestGlobals, 'jest'>;

let current: Globals | undefined;

/** Makes the exports of this file those of the test file that the worker runs now. */
export function useGlobals(globals: Globals): void {
  current = globals;
}

function now(): Globals {
  if (current === undefined) throw new Error('jest runs no test file');
  return current;
}

const placeholder = (): void => undefined;

/** A function, with properties such as `test.each`, that is always the current test file's. */
function currently<Name extends keyof Globals>(name: Name): Globals[Name] {
  return new Proxy<object>(placeholder, {
    apply: (_, self, args) => Reflect.apply(now()[name] as () => unknown, self, args) as unknown,
    get: (_, property) => Reflect.get(now()[name], property) as unknown,
  }) as Globals[Name];
}

export const afterAll = currently('afterAll');
export const afterEach = currently('afterEach');
export const beforeAll = currently('beforeAll');
export const beforeEach = currently('beforeEach');
export const describe = currently('describe');
export const expect = currently('expect');
export const test = currently('test');
