/** @type {import('jest').Config} */
export default {
  testEnvironment: 'node',
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
  // Someone may run Gatehouse here, and a test copies the project.
  modulePathIgnorePatterns: ['<rootDir>/.gatehouse'],
  injectGlobals: false,
  // Node reads TypeScript itself.
  transform: {},
  testSequencer: '<rootDir>/test/support/test-sequencer.ts',
  testRunner: '<rootDir>/test/support/test-runner.ts',
  // Many tests start real servers and wait for them. Five workers keep two cores busy, and six use 8 % more processor time.
  maxWorkers: 5,
  // The processes of many stacks ran within a worker by then: a new worker begins with an empty memory.
  workerIdleMemoryLimit: '1GB',
  // The end of a worker without open handles takes longer than half a second on a busy machine, and would be reported like a leak.
  workerGracefulExitTimeout: 10_000,
  // Deadlines only end what hangs. A test on a busy machine takes several times as long as on an idle one.
  testTimeout: 15 * 60_000,
};
