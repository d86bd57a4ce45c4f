import { execFile } from 'node:child_process';
import { cp, mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import config from '../../../oxlint.config.ts';
import { sharedFolder } from '../../support/shared-folder.ts';

const root = join(import.meta.dirname, '..', '..', '..');

interface Finding {
  readonly filename: string;
  readonly code: string;
}

/** Runs the linter on a tree with the configuration of this repository. Returns its findings. */
async function lint(tree: string): Promise<readonly Finding[]> {
  const report = await new Promise<string>((resolve, reject) => {
    execFile(
      join(root, 'node_modules/.bin/oxlint'),
      ['-f', 'json'],
      { cwd: tree },
      (_error, stdout, stderr) => {
        // Its exit code says that it found something. Without a report it could not begin.
        if (stdout.startsWith('{')) resolve(stdout);
        else reject(new Error(`oxlint wrote no report: ${stdout}${stderr}`));
      },
    );
  });
  return (JSON.parse(report) as { readonly diagnostics: readonly Finding[] }).diagnostics;
}

/** A rule's code in a finding: `eslint(eqeqeq)` for `eqeqeq`, `typescript(no-namespace)` for `typescript/no-namespace`. */
function codeOf(rule: string): string {
  const [name = '', plugin = 'eslint'] = rule.split('/').reverse();
  return `${plugin}(${name})`;
}

/** By the rule that must find it: a mistake in TypeScript. */
const inTypeScript: Readonly<Record<string, string>> = {
  'for-direction': `for (let i = 0; i < 3; i--) use(i);`,
  'no-async-promise-executor': `use(new Promise(async (resolve) => { resolve(await read()); }));`,
  'no-case-declarations': `switch (text) { case 'a': const inner = 1; use(inner); }`,
  'no-compare-neg-zero': `use(number === -0);`,
  'no-cond-assign': `let found: string | null; while (found = /a/.exec(text)?.[0] ?? null) use(found);`,
  'no-constant-binary-expression': `use(text + 'a' ?? 'b');`,
  'no-constant-condition': `if (1) use(1);`,
  'no-control-regex': `use(/\\x1f/.test(text));`,
  'no-debugger': `debugger;`,
  'no-dupe-else-if': `if (text === 'a') use(1); else if (text === 'a') use(2);`,
  'no-duplicate-case': `switch (text) { case 'a': use(1); break; case 'a': use(2); }`,
  'no-empty': `try { use(1); } catch {}`,
  'no-empty-character-class': `use(/a[]/.test(text));`,
  'no-empty-pattern': `const {} = thing; use(1);`,
  'no-empty-static-block': `export class A { static {} a = 1; }`,
  'no-ex-assign': `try { use(1); } catch (error) { error = 1; use(error); }`,
  'no-extra-boolean-cast': `if (!!text) use(1);`,
  'no-fallthrough': `switch (text) { case 'a': use(1); case 'b': use(2); }`,
  'no-global-assign': `Object = thing as any;`,
  'no-invalid-regexp': `use(new RegExp('['));`,
  'no-irregular-whitespace': `use(1);\u2003use(2);`,
  'no-loss-of-precision': `use(9007199254740993);`,
  'no-misleading-character-class': `use(/[👍]/.test(text));`,
  'no-prototype-builtins': `use(thing.hasOwnProperty('a'));`,
  'no-regex-spaces': `use(/a  b/.test(text));`,
  'no-self-assign': `let same = number; same = same; use(same);`,
  'no-shadow-restricted-names': `export const of = (undefined: number) => undefined;`,
  'no-sparse-arrays': `use([1, , 2]);`,
  'no-unassigned-vars': `let never: string | undefined; use(never);`,
  'no-unexpected-multiline': `use(text\n(1));`,
  'no-unsafe-finally': `export const f = () => { try { return 1; } finally { return 2; } };`,
  'no-unsafe-optional-chaining': `use((maybe?.list as string[]).length);`,
  'no-unused-labels': `label: while (number > 1) use(1);`,
  'no-unused-private-class-members': `export class A { #hidden = 1; }`,
  'no-unused-vars': `const unused = 1;`,
  'eslint-js/no-useless-assignment': `let value = 1; value = 2; use(value); value = 3;`,
  'no-useless-backreference': `use(/(a\\1)/.test(text));`,
  'no-useless-catch': `try { use(1); } catch (error) { throw error; }`,
  'no-useless-escape': `use('\\d');`,
  'preserve-caught-error': `try { use(1); } catch (error) { use(error); throw new Error('a'); }`,
  'require-yield': `export function* none() { use(1); }`,
  'use-isnan': `use(number === NaN);`,
  'valid-typeof': `use(typeof thing === 'strnig');`,
  eqeqeq: `use(text == 'a');`,
  'no-warning-comments': `// TODO: later\nuse(1);`,
  'max-lines': 'use(1);\n'.repeat(401),
  'unicorn/no-useless-spread': `use([...[1, 2], number]);`,
  'no-array-constructor': `use(new Array(1, 2));`,
  'no-unused-expressions': `text;`,
  'no-useless-constructor': `export class A { constructor() {} a = 1; }`,
  'no-var': `var old = 1; use(old);`,
  'prefer-const': `let fixed = 1; use(fixed);`,
  'prefer-rest-params': `export function all() { return arguments[0] as unknown; }`,
  'prefer-spread': `const list = [1]; use(Math.max.apply(Math, list));`,
  'eslint-js/no-restricted-syntax': `use(1 as unknown as string);`,
  'typescript/await-thenable': `await number;`,
  'typescript/ban-ts-comment': `// @ts-expect-error\nuse(nothing);`,
  'typescript/consistent-type-imports': `import { Server } from 'node:http'; export type A = Server;`,
  'typescript/no-array-delete': `const list = [1]; delete list[0];`,
  'typescript/no-base-to-string': `use(String({}));`,
  'typescript/no-confusing-void-expression': `const nothing = use(1); use(nothing);`,
  'typescript/no-deprecated': `/** @deprecated */ declare const old: number; use(old);`,
  'typescript/no-duplicate-enum-values': `export enum E { a = 1, b = 1 }`,
  'typescript/no-duplicate-type-constituents': `export type A = 'a' | 'a';`,
  'typescript/no-dynamic-delete': `delete record[text];`,
  'typescript/no-empty-object-type': `export type A = {};`,
  'typescript/no-explicit-any': `export const a: any = 1;`,
  'typescript/no-extra-non-null-assertion': `use(maybe!!.list);`,
  'typescript/no-extraneous-class': `export class A { static a = 1; }`,
  'typescript/no-floating-promises': `read();`,
  'typescript/no-for-in-array': `for (const i in [1]) use(i);`,
  'typescript/no-generated-empty-object-type': `export type A = Omit<{ a: 1 }, 'a'>;`,
  'typescript/no-implied-eval': `setTimeout('use(1)', 1);`,
  'typescript/no-import-type-side-effects': `import { type Server } from 'node:http'; export type A = Server;`,
  'typescript/no-invalid-void-type': `export type A = { a: void };`,
  'typescript/no-meaningless-void-operator': `void use(1);`,
  'typescript/no-misused-new': `export interface A { new (): A }`,
  'typescript/no-misused-promises': `[1].forEach(async () => { await read(); });`,
  'typescript/no-mixed-enums': `export enum E { a = 1, b = 'b' }`,
  'typescript/no-namespace': `export namespace A { export const a = 1; }`,
  'typescript/no-non-null-asserted-nullish-coalescing': `use(text.length! ?? 1);`,
  'typescript/no-non-null-asserted-optional-chain': `use(maybe?.list!);`,
  'typescript/no-non-null-assertion': `use(maybe!.list);`,
  'typescript/no-redundant-type-constituents': `export type A = unknown | 'a';`,
  'typescript/no-require-imports': `import fs = require('node:fs'); use(fs);`,
  'typescript/no-this-alias': `export class A { a() { const self = this; return self; } }`,
  'typescript/no-unnecessary-boolean-literal-compare': `if ((number > 1) === true) use(1);`,
  'typescript/no-unnecessary-condition': `if (thing) use(1);`,
  'typescript/no-unnecessary-template-expression': 'use(`${"a"}`);',
  'typescript/no-unnecessary-type-arguments': `const of = <T = string>(a: T) => a; use(of<string>('a'));`,
  'typescript/no-unnecessary-type-assertion': `use(text as string);`,
  'typescript/no-unnecessary-type-constraint': `export type A<T extends unknown> = T[];`,
  'typescript/no-unnecessary-type-conversion': `use(String(text));`,
  'typescript/no-unnecessary-type-parameters': `export const of = <T>(a: T): void => { use(a); };`,
  'typescript/no-unsafe-argument': `encodeURI(anything);`,
  'typescript/no-unsafe-assignment': `const taken = anything; use(taken);`,
  'typescript/no-unsafe-call': `anything();`,
  'typescript/no-unsafe-declaration-merging': `export interface A { a: 1 } export class A {}`,
  'typescript/no-unsafe-enum-comparison': `enum E { a = 1 } declare const e: E; use(e === 1);`,
  'typescript/no-unsafe-function-type': `export type A = Function;`,
  'typescript/no-unsafe-member-access': `use(anything.name);`,
  'typescript/no-unsafe-return': `export const f = () => anything;`,
  'typescript/no-unsafe-unary-minus': `use(-anything2);`,
  'typescript/no-useless-default-assignment': `const { a = 1 } = { a: number }; use(a);`,
  'typescript/no-wrapper-object-types': `export type A = String;`,
  'typescript/only-throw-error': `throw 'text';`,
  'typescript/prefer-as-const': `const a: 'a' = 'a'; use(a);`,
  'typescript/prefer-literal-enum-member': `export enum E { a = text.length }`,
  'typescript/prefer-namespace-keyword': `declare module Old { const a: 1; } use(Old.a);`,
  'typescript/prefer-promise-reject-errors': `await Promise.reject('text');`,
  'typescript/prefer-reduce-type-parameter': `use(['a'].reduce((all, one) => [...all, one], [] as string[]));`,
  'typescript/prefer-return-this-type': `export class A { a(): A { return this; } }`,
  'typescript/related-getter-setter-pairs': `export interface A { get a(): string; set a(value: number) }`,
  'typescript/restrict-plus-operands': `use(text + number);`,
  'typescript/restrict-template-expressions': 'use(`${maybe}`);',
  'typescript/return-await': `export const f = async () => { try { return read(); } catch { return 1; } };`,
  'typescript/switch-exhaustiveness-check': `switch (status) { case 'open': use(1); }`,
  'typescript/triple-slash-reference': `/// <reference path="other.ts" />\nuse(1);`,
  'typescript/unbound-method': `const free = text.trim; use(free);`,
  'typescript/unified-signatures': `export interface A { a(b: string): 1; a(b: number): 1 }`,
  'typescript/use-unknown-in-catch-callback-variable': `await read().catch((error: Error) => { use(error); });`,
};

/** By the rule that must find it: a mistake in JavaScript. */
const inJavaScript: Readonly<Record<string, string>> = {
  'constructor-super': `export class A extends Object { constructor() { console.log(1); } }`,
  'getter-return': `export const a = { get b() { console.log(1); } };`,
  'no-class-assign': `class A {} A = 1; console.log(A);`,
  'no-const-assign': `const a = 1; a = 2; console.log(a);`,
  'no-dupe-class-members': `export class A { a() { return 1; } a() { return 2; } }`,
  'no-dupe-keys': `export const a = { b: 1, b: 2 };`,
  'no-func-assign': `function f() {} f = 1; console.log(f);`,
  'no-import-assign': `import { sep } from 'node:path'; sep = 1; console.log(sep);`,
  'no-new-native-nonconstructor': `console.log(new Symbol('a'));`,
  'no-obj-calls': `console.log(Math());`,
  'no-setter-return': `export const a = { set b(c) { return c; } };`,
  'no-this-before-super': `export class A extends Object { constructor() { this.a = 1; super(); } }`,
  'no-undef': `console.log(nothing);`,
  'no-unreachable': `export function f() { return 1; console.log(1); }`,
  'no-unsafe-negation': `console.log(!'a' in {});`,
};

/** By the rule that must find it: a mistake that only a script makes, because modules are strict. */
const inScripts: Readonly<Record<string, string>> = {
  'eslint-js/no-dupe-args': `exports.f = function (a, a) { return a; };`,
  'eslint-js/no-octal': `exports.a = 017;`,
  'no-delete-var': `var a = 1; delete a;`,
  'no-nonoctal-decimal-escape': `exports.a = '\\8';`,
  'no-redeclare': `var a = 1; var a = 2; exports.a = a;`,
  'no-with': `with (exports) console.log(1);`,
};

/** The declarations that the mistakes in TypeScript need. */
const declarations = `
declare const text: string, number: number, thing: object, maybe: { list: string[] } | undefined, anything: any;
declare const anything2: object, record: Record<string, number>, status: 'open' | 'closed';
declare const read: () => Promise<number>, use: (value: unknown) => void, nothing: undefined;
`;
const planted = [
  ...Object.entries(inTypeScript).map(
    ([rule, code]) => [rule, 'src/contract', 'ts', code + declarations] as const,
  ),
  ...Object.entries(inJavaScript).map(([rule, code]) => [rule, 'tools', 'mjs', code] as const),
  ...Object.entries(inScripts).map(([rule, code]) => [rule, 'tools', 'cjs', code] as const),
].map(([rule, folder, ending, code]) => ({
  rule,
  file: `${folder}/${rule.replace('/', '-')}.${ending}`,
  code: `${code}\n${ending === 'ts' ? 'export {};' : ''}\n`,
}));

const elsewhere: Readonly<Record<string, string>> = {
  'src/platform/process.ts': `export const home = process.env['HOME'];
     export const code = globalThis.process.exitCode;
     console.log(home);`,
  'src/main/process.ts': `export const home = process.env['HOME'];
     console.log(home);`,
  'src/core/domain/clock.ts': `export const now = new Date();
     export const today = Date.now();
     export const chance = Math.random();
     export const id = crypto.randomUUID();
     export const cast = 1 as unknown as string;`,
  'src/platform/type.ts': `export const text: string = 1;`,
  'src/platform/unused-disable.ts': `// eslint-disable-next-line eqeqeq -- nothing here\nexport const a = 1;`,
};

describe('lint rules', () => {
  const tree = sharedFolder();
  let findings: readonly Finding[];

  beforeAll(async () => {
    for (const file of ['oxlint.config.ts', 'tsconfig.json', 'package.json'])
      await cp(join(root, file), join(tree, file));
    await symlink(join(root, 'node_modules'), join(tree, 'node_modules'));
    const files = [...planted.map(({ file, code }) => [file, code] as const), ...Object.entries(elsewhere)];
    for (const [file, code] of files) {
      await mkdir(dirname(join(tree, file)), { recursive: true });
      await writeFile(join(tree, file), code);
    }
    findings = await lint(tree);
  });

  const foundIn = (file: string): readonly string[] => [
    ...new Set(findings.filter(({ filename }) => filename === file).map(({ code }) => code)),
  ];

  test.each(planted)('$rule finds its mistake', ({ rule, file }) => {
    expect(foundIn(file)).toContain(codeOf(rule));
  });

  test('every rule has found a mistake in these tests', () => {
    const isOn = ([, setting]: readonly [string, unknown]): boolean => setting !== 'off';
    const rules = [config.rules, ...config.overrides.map((override) => override.rules)];
    const on = rules.flatMap((some) => Object.entries(some ?? {})).filter(isOn);

    const found = new Set(findings.map(({ code }) => code));
    expect(on.map(([rule]) => rule).filter((rule) => !found.has(codeOf(rule)))).toEqual([]);
  });

  test('the process and the console cannot be used outside of src/main', () => {
    expect([...foundIn('src/platform/process.ts')].sort()).toEqual([
      'eslint(no-console)',
      'eslint(no-restricted-globals)',
      'eslint(no-restricted-properties)',
    ]);
    expect(foundIn('src/main/process.ts')).toEqual([]);
  });

  test('the domain has no access to time or randomness', () => {
    const inClock = findings.filter(({ filename }) => filename === 'src/core/domain/clock.ts');
    expect(inClock.map(({ code }) => code).sort()).toEqual([
      'eslint(no-restricted-globals)',
      'eslint(no-restricted-properties)',
      'eslint(no-restricted-properties)',
      'eslint-js(no-restricted-syntax)',
      'eslint-js(no-restricted-syntax)',
    ]);
  });

  test('the compiler checks the same files', () => {
    expect(foundIn('src/platform/type.ts')).toEqual(['typescript(TS2322)']);
  });

  test('a comment that disables a rule without effect is found', () => {
    expect(foundIn('src/platform/unused-disable.ts')).toHaveLength(1);
  });
});
