/** @type {import('jest').Config} */
export default {
  testEnvironment: 'node',
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
  // Data of a Gatehouse that somebody runs here is none of the tests' business.
  modulePathIgnorePatterns: ['<rootDir>/.gatehouse/'],
  extensionsToTreatAsEsm: ['.ts'],
  injectGlobals: false,
  transform: {
    '\\.ts$': [
      '@swc/jest',
      {
        jsc: { parser: { syntax: 'typescript' }, target: 'es2024' },
        module: { type: 'es6' },
        sourceMaps: 'inline',
      },
    ],
  },
  // Many tests start real servers: one for each core of a small machine, and time for the slow start of a busy one.
  maxWorkers: 2,
  testTimeout: 60_000,
};
