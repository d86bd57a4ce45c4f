// What the compiler and the formatter cannot see. A rule is here because breaking it has cost somebody a bug;
// matters of taste are Oxfmt's. Imports between folders are the subject of .dependency-cruiser.js.
import { defineConfig } from 'oxlint';

const asErrors = (...names: readonly string[]): Record<string, 'error'> =>
  Object.fromEntries(names.map((name) => [name, 'error']));

const asGlobals = (...names: readonly string[]): Record<string, 'readonly'> =>
  Object.fromEntries(names.map((name) => [name, 'readonly']));

const NODE_GLOBALS = asGlobals(
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
);

/** Those of a page's script. */
const PAGE_GLOBALS = asGlobals(
  'URLSearchParams',
  'confirm',
  'document',
  'location',
  'navigator',
  'uPlot',
  'window',
);

const PROCESS_ELSEWHERE =
  'Use the process in src/main and hand its settings, signals and exit down as arguments, so that tests can pass their own.';

const CLOCK_OR_CHANCE =
  'The domain has no access to time or randomness: let the caller pass the time, the random bytes or the id.';

const CAST_THROUGH_UNKNOWN = {
  selector: 'TSAsExpression > TSAsExpression[typeAnnotation.type="TSUnknownKeyword"]',
  message: 'A cast through `unknown` hides a mistake from the compiler: parse the value, or fix its type.',
};

/** What ESLint recommends for all code. */
const RECOMMENDED = asErrors(
  // Oxlint's own rule overlooks that a value is read after `catch`.
  'eslint-js/no-useless-assignment',
  'for-direction',
  'no-async-promise-executor',
  'no-case-declarations',
  'no-compare-neg-zero',
  'no-cond-assign',
  'no-constant-binary-expression',
  'no-constant-condition',
  'no-control-regex',
  'no-debugger',
  'no-delete-var',
  'no-dupe-else-if',
  'no-duplicate-case',
  'no-empty',
  'no-empty-character-class',
  'no-empty-pattern',
  'no-empty-static-block',
  'no-ex-assign',
  'no-extra-boolean-cast',
  'no-fallthrough',
  'no-global-assign',
  'no-invalid-regexp',
  'no-irregular-whitespace',
  'no-loss-of-precision',
  'no-misleading-character-class',
  'no-nonoctal-decimal-escape',
  'no-prototype-builtins',
  'no-regex-spaces',
  'no-self-assign',
  'no-shadow-restricted-names',
  'no-sparse-arrays',
  'no-unassigned-vars',
  'no-unexpected-multiline',
  'no-unsafe-finally',
  'no-unsafe-optional-chaining',
  'no-unused-labels',
  'no-unused-private-class-members',
  'no-unused-vars',
  'no-useless-backreference',
  'no-useless-catch',
  'no-useless-escape',
  'preserve-caught-error',
  'require-yield',
  'use-isnan',
  'valid-typeof',
);

/** What ESLint recommends for JavaScript. In TypeScript the compiler finds these mistakes. */
const WITHOUT_COMPILER = asErrors(
  'constructor-super',
  'eslint-js/no-dupe-args',
  'eslint-js/no-octal',
  'getter-return',
  'no-class-assign',
  'no-const-assign',
  'no-dupe-class-members',
  'no-dupe-keys',
  'no-func-assign',
  'no-import-assign',
  'no-new-native-nonconstructor',
  'no-obj-calls',
  'no-redeclare',
  'no-setter-return',
  'no-this-before-super',
  'no-undef',
  'no-unreachable',
  'no-unsafe-negation',
  'no-with',
);

/** What typescript-eslint calls strict. Most of it needs types, which tsgolint knows. */
const STRICT_WITH_TYPES = asErrors(
  'no-array-constructor',
  'no-unused-expressions',
  'no-useless-constructor',
  'no-var',
  'prefer-const',
  'prefer-rest-params',
  'prefer-spread',
  'typescript/await-thenable',
  'typescript/no-array-delete',
  'typescript/no-base-to-string',
  'typescript/no-deprecated',
  'typescript/no-duplicate-enum-values',
  'typescript/no-duplicate-type-constituents',
  'typescript/no-dynamic-delete',
  'typescript/no-empty-object-type',
  'typescript/no-explicit-any',
  'typescript/no-extra-non-null-assertion',
  'typescript/no-extraneous-class',
  'typescript/no-floating-promises',
  'typescript/no-for-in-array',
  'typescript/no-generated-empty-object-type',
  'typescript/no-implied-eval',
  'typescript/no-invalid-void-type',
  'typescript/no-meaningless-void-operator',
  'typescript/no-misused-new',
  'typescript/no-misused-promises',
  'typescript/no-mixed-enums',
  'typescript/no-namespace',
  'typescript/no-non-null-asserted-nullish-coalescing',
  'typescript/no-non-null-asserted-optional-chain',
  'typescript/no-non-null-assertion',
  'typescript/no-redundant-type-constituents',
  'typescript/no-require-imports',
  'typescript/no-this-alias',
  'typescript/no-unnecessary-boolean-literal-compare',
  'typescript/no-unnecessary-condition',
  'typescript/no-unnecessary-template-expression',
  'typescript/no-unnecessary-type-arguments',
  'typescript/no-unnecessary-type-assertion',
  'typescript/no-unnecessary-type-constraint',
  'typescript/no-unnecessary-type-conversion',
  'typescript/no-unnecessary-type-parameters',
  'typescript/no-unsafe-argument',
  'typescript/no-unsafe-assignment',
  'typescript/no-unsafe-call',
  'typescript/no-unsafe-declaration-merging',
  'typescript/no-unsafe-enum-comparison',
  'typescript/no-unsafe-function-type',
  'typescript/no-unsafe-member-access',
  'typescript/no-unsafe-return',
  'typescript/no-unsafe-unary-minus',
  'typescript/no-useless-default-assignment',
  'typescript/no-wrapper-object-types',
  'typescript/only-throw-error',
  'typescript/prefer-as-const',
  'typescript/prefer-literal-enum-member',
  'typescript/prefer-namespace-keyword',
  'typescript/prefer-promise-reject-errors',
  'typescript/prefer-reduce-type-parameter',
  'typescript/prefer-return-this-type',
  'typescript/related-getter-setter-pairs',
  'typescript/triple-slash-reference',
  'typescript/unbound-method',
  'typescript/unified-signatures',
  'typescript/use-unknown-in-catch-callback-variable',
);

export default defineConfig({
  options: { typeAware: true, typeCheck: true, denyWarnings: true, reportUnusedDisableDirectives: 'error' },
  plugins: ['typescript', 'unicorn'],
  // The rules of ESLint that oxlint lacks.
  jsPlugins: [{ name: 'eslint-js', specifier: 'oxlint-plugin-eslint' }],
  // Rules are named one by one, so that a new version of oxlint adds and drops none unseen.
  categories: { correctness: 'off' },
  env: { builtin: true },
  ignorePatterns: [
    'src/gen/',
    'clients/typescript/src/openapi.ts',
    'clients/typescript/dist/',
    'node_modules/',
    '.gatehouse*/',
    'coverage/',
  ],
  rules: {
    ...RECOMMENDED,
    eqeqeq: ['error', 'always', { null: 'ignore' }],
    'no-warning-comments': ['error', { terms: ['todo', 'fixme', 'xxx'] }],
    // A file somebody can read in one sitting. Tables of test cases and generated code are not read that way.
    'max-lines': ['error', { max: 400, skipComments: true, skipBlankLines: true }],
    // A literal that is spread into another one only saves lines, and hides the names that it sets.
    'unicorn/no-useless-spread': 'error',
  },
  overrides: [
    { files: ['**/*.{js,mjs,cjs}'], globals: NODE_GLOBALS, rules: WITHOUT_COMPILER },
    { files: ['**/*.cjs'], env: { commonjs: true } },
    { files: ['src/**/*.js'], globals: PAGE_GLOBALS },
    {
      files: ['**/*.ts'],
      rules: {
        ...STRICT_WITH_TYPES,
        'no-unused-vars': ['error', { argsIgnorePattern: '^_', ignoreRestSiblings: true }],
        'eslint-js/no-restricted-syntax': ['error', CAST_THROUGH_UNKNOWN],
        'typescript/ban-ts-comment': ['error', { minimumDescriptionLength: 10 }],
        'typescript/consistent-type-imports': 'error',
        'typescript/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
        'typescript/no-import-type-side-effects': 'error',
        'typescript/restrict-plus-operands': [
          'error',
          {
            allowAny: false,
            allowBoolean: false,
            allowNullish: false,
            allowNumberAndString: false,
            allowRegExp: false,
          },
        ],
        'typescript/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
        'typescript/return-await': ['error', 'error-handling-correctness-only'],
        'typescript/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      },
    },
    {
      files: ['src/**/*.ts'],
      excludeFiles: ['src/main/**'],
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
        'eslint-js/no-restricted-syntax': [
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
        'typescript/no-non-null-assertion': 'off',
        // Jest's asymmetric matchers (`expect.any`, `expect.objectContaining`) are typed `any`.
        'typescript/no-unsafe-assignment': 'off',
        'max-lines': 'off',
        'unicorn/no-useless-spread': 'off',
      },
    },
  ],
});
