import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { ESLint } from 'eslint';

const root = join(import.meta.dirname, '..', '..', '..');
/** One for all the tests: the compiler reads the project once. */
const eslint = new ESLint({
  cwd: root,
  // With `CI=true` in its environment, the parser would take a file's text from the disk instead of the text given here.
  overrideConfig: { languageOptions: { parserOptions: { disallowAutomaticSingleRunInference: true } } },
});

/**
 * The rules that a piece of code breaks when it stands in a folder. Linting with types needs a file that the compiler
 * knows, so the code takes the place of the first one there.
 */
async function rulesBroken(folder: string, code: string): Promise<readonly string[]> {
  const file = (await readdir(join(root, folder))).find((name) => name.endsWith('.ts'));
  if (file === undefined) throw new Error(`${folder} has no TypeScript file to stand in for`);
  const filePath = join(root, folder, file);
  const [report] = await eslint.lintText(code, { filePath });
  return [...new Set(report?.messages.map(({ ruleId }) => ruleId ?? 'syntax'))].sort();
}

test('outside src/main, the process and the console are out of reach', async () => {
  const broken = await rulesBroken(
    'src/platform',
    `export const home = process.env['HOME'];
     export const code = globalThis.process.exitCode;
     console.log(home);`,
  );

  expect(broken).toEqual(['no-console', 'no-restricted-globals', 'no-restricted-properties']);
});

test('the domain can neither look at a clock nor throw dice', async () => {
  const broken = await rulesBroken(
    'src/core/domain',
    `export const now = new Date();
     export const today = Date.now();
     export const chance = Math.random();
     export const id = crypto.randomUUID();`,
  );

  expect(broken).toEqual(['no-restricted-globals', 'no-restricted-properties', 'no-restricted-syntax']);
});

test('mistakes that the compiler lets through are found', async () => {
  const broken = await rulesBroken(
    'src/platform',
    `import { Logger } from 'pino';
     type Status = 'open' | 'closed';
     declare const write: () => Promise<void>;
     declare const anything: any;
     export const log = (logger: Logger, status: Status): number => {
       write();
       [1].forEach(async () => write());
       logger.info(encodeURI(anything.name));
       switch (status) {
         case 'open':
           return 1 as unknown as number;
       }
     };`,
  );

  expect(broken).toEqual(
    expect.arrayContaining([
      '@typescript-eslint/consistent-type-imports',
      '@typescript-eslint/no-explicit-any',
      '@typescript-eslint/no-floating-promises',
      '@typescript-eslint/no-misused-promises',
      '@typescript-eslint/no-unsafe-argument',
      '@typescript-eslint/no-unsafe-member-access',
      '@typescript-eslint/switch-exhaustiveness-check',
      'no-restricted-syntax',
    ]),
  );
});
