// What the compiler and the formatter cannot see. A rule is here because breaking it has cost somebody a bug;
// matters of taste are Prettier's. Imports between folders are the subject of .dependency-cruiser.js.
import js from '@eslint/js';
import { defineConfig } from 'eslint/config';
import tseslint from 'typescript-eslint';

const NODE_GLOBALS = Object.fromEntries(
  [
    'AbortController',
    'AbortSignal',
    'Buffer',
    'URL',
    'clearInterval',
    'clearTimeout',
    'console',
    'fetch',
    'performance',
    'process',
    'setInterval',
    'setTimeout',
  ].map((name) => [name, 'readonly']),
);

const PROCESS_ELSEWHERE =
  'Use the process in src/main and hand its settings, signals and exit down as arguments, so that tests can pass their own.';

const CLOCK_OR_CHANCE =
  'The domain has no clock and no dice: let the caller pass the time, the random bytes or the id.';

const CAST_THROUGH_UNKNOWN = {
  selector: 'TSAsExpression > TSAsExpression[typeAnnotation.type="TSUnknownKeyword"]',
  message: 'A cast through `unknown` hides a mistake from the compiler: parse the value, or fix its type.',
};

export default defineConfig(
  {
    ignores: [
      'src/gen/',
      'clients/typescript/src/openapi.ts',
      'clients/typescript/dist/',
      'node_modules/',
      '.gatehouse*/',
      'coverage/',
    ],
  },
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  js.configs.recommended,
  {
    rules: {
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      'no-warning-comments': ['error', { terms: ['todo', 'fixme', 'xxx'] }],
      // A file somebody can read in one sitting. Tables of test cases and generated code are not read that way.
      'max-lines': ['error', { max: 400, skipComments: true, skipBlankLines: true }],
    },
  },
  { files: ['**/*.{js,mjs,cjs}'], languageOptions: { globals: NODE_GLOBALS } },
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: {
      parserOptions: {
        project: ['tsconfig.json', 'clients/typescript/tsconfig.json'],
        tsconfigRootDir: import.meta.dirname,
      },
    },
    rules: {
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-import-type-side-effects': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
      // `async` on a function of a given shape (a Fastify handler, an RPC) is a promise to the caller, await or not.
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true },
      ],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', ignoreRestSiblings: true }],
      '@typescript-eslint/no-empty-function': 'off',
      // Libraries type what their factories return by its shape (MikroORM.init), and shapes are what we compare too.
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
      // google.rpc.Status and the gRPC libraries carry a status code as a bare number.
      '@typescript-eslint/no-unsafe-enum-assignment': 'off',
      // `[...text]` is how one goes through code points, which is what lengths and masks count.
      '@typescript-eslint/no-misused-spread': 'off',
      'no-restricted-syntax': ['error', CAST_THROUGH_UNKNOWN],
    },
  },
  {
    files: ['src/**/*.ts'],
    ignores: ['src/main/**'],
    rules: {
      'no-restricted-globals': ['error', { name: 'process', message: PROCESS_ELSEWHERE }],
      'no-restricted-properties': [
        'error',
        { object: 'globalThis', property: 'process', message: PROCESS_ELSEWHERE },
      ],
      'no-console': 'error',
    },
  },
  {
    files: ['src/core/domain/**/*.ts'],
    rules: {
      'no-restricted-syntax': [
        'error',
        CAST_THROUGH_UNKNOWN,
        { selector: 'NewExpression[callee.name="Date"][arguments.length=0]', message: CLOCK_OR_CHANCE },
      ],
      'no-restricted-globals': [
        'error',
        ...['process', 'crypto', 'fetch', 'performance', 'setTimeout', 'setInterval', 'setImmediate'].map(
          (name) => ({
            name,
            message: CLOCK_OR_CHANCE,
          }),
        ),
      ],
      'no-restricted-properties': [
        'error',
        { object: 'Math', property: 'random', message: CLOCK_OR_CHANCE },
        { object: 'Date', property: 'now', message: CLOCK_OR_CHANCE },
        { object: 'globalThis', property: 'process', message: CLOCK_OR_CHANCE },
      ],
    },
  },
  {
    files: ['test/**/*.ts', 'bench/**/*.ts'],
    rules: {
      // A test that reads a missing element should fail there, and `!` says so in one character.
      '@typescript-eslint/no-non-null-assertion': 'off',
      // Jest's asymmetric matchers (`expect.any`, `expect.objectContaining`) are typed `any`.
      '@typescript-eslint/no-unsafe-assignment': 'off',
      'max-lines': 'off',
    },
  },
);
