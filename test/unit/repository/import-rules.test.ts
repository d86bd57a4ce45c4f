import { execFile } from 'node:child_process';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { sharedFolder } from '../../support/shared-folder.ts';

const root = join(import.meta.dirname, '..', '..', '..');
const config = join(root, '.dependency-cruiser.js');
const cruiser = join(root, 'node_modules', '.bin', 'depcruise');

interface Violation {
  readonly from: string;
  readonly to: string;
  readonly rule: { readonly name: string };
}

/** Runs dependency-cruiser on folders of a tree with the rules of this repository. Returns the violations. */
async function cruise(tree: string, folders: readonly string[]): Promise<readonly Violation[]> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [cruiser, '--config', config, '--output-type', 'json', ...folders],
    { cwd: tree, maxBuffer: 256 * 1024 * 1024 },
  );
  const result = JSON.parse(stdout) as { summary: { violations: readonly Violation[] } };
  return result.summary.violations;
}

const changes = 'src/core/payments/changes';
/** The files that write the rows of orders and attempts. */
const orderWriters = ['write-orders.sql.ts', 'insert-orders.sql.ts', 'write-latest-attempt.ts'];

/** By the one rule that must refuse it: the importing file, and the planted statement. */
const planted: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'domain-imports-nothing': {
    'src/core/domain/npm.ts': `import 'fastify';`,
    'src/core/domain/builtin.ts': `import { randomUUID } from 'node:crypto';`,
    'src/core/domain/neighbour.ts': `import { a } from '../database/a.ts';`,
    'src/core/domain/contract.ts': `import type { A } from '../../gen/a_pb.js';`,
    'src/webhooks/domain/npm.ts': `import 'fastify';`,
    'src/webhooks/domain/process.ts': `import { a } from '../a.ts';`,
  },
  'core-imports-its-layers': {
    'src/core/merchants/json.ts': `import { a } from '../../merchant-api/a.ts';`,
    'src/core/database/edge.ts': `import { a } from '../../rest-facade/a.ts';`,
  },
  'shared-folders-import-no-capability': {
    'src/core/database/merchants.ts': `import { a } from '../merchants/find-merchant.ts';`,
  },
  'capability-through-its-door': {
    'src/core/payments/store.ts': `import { a } from '../merchants/merchant-store.ts';`,
    'src/core/payments/type.ts': `import type { A } from '../merchants/merchant-store.ts';`,
    'src/core/payments/inline.ts': `export const a: import('../merchants/merchant-store.ts').A = 1;`,
    'src/core/payments/again.ts': `export * from '../merchants/merchant-store.ts';`,
    'src/core/payments/late.ts': `await import('../merchants/merchant-store.ts');`,
  },
  'orders-change-in-one-place': Object.fromEntries(
    orderWriters.map((file) => [
      `src/core/payments/orders/${file}`,
      `import { a } from '../changes/${file}';`,
    ]),
  ),
  'subfolder-imports-no-parent': {
    'src/core/merchants/terms/limits.ts': `import { a } from '../find-merchant.ts';`,
  },
  'edge-imports-shared-folders': {
    'src/rest-facade/core.ts': `import type { A } from '../core/domain/a.ts';`,
    'src/checkout/facade.ts': `import { a } from '../rest-facade/a.ts';`,
    'src/wallets/core.ts': `import { a } from '../core/domain/a.ts';`,
    'src/webhooks/core.ts': `import { a } from '../core/database/a.ts';`,
    'src/dashboard/checkout.ts': `import { a } from '../checkout/a.ts';`,
    'src/cli/core.ts': `import { a } from '../core/merchants/find-merchant.ts';`,
  },
  'simulator-imports-platform': {
    'src/wallet-simulator/contract.ts': `import { A } from '../gen/a_pb.js';`,
    'src/wallet-simulator/wallets.ts': `import { a } from '../wallets/a.ts';`,
  },
  'platform-knows-no-payments': {
    'src/platform/domain.ts': `import { a } from '../core/domain/a.ts';`,
    'src/platform/json.ts': `import { a } from '../merchant-api/a.ts';`,
    'src/platform/role.ts': `import { a } from '../contract/a.ts';`,
    'src/platform/order.ts': `import { A } from '../gen/a_pb.js';`,
  },
  'contract-imports-gen-and-platform': {
    'src/contract/order.ts': `import { a } from '../core/domain/a.ts';`,
  },
  'merchant-api-imports-contract': {
    'src/merchant-api/logger.ts': `import { a } from '../platform/a.ts';`,
  },
  'gen-imports-npm': {
    'src/gen/ours.js': `import { a } from '../platform/a.ts';`,
  },
  'main-is-imported-by-nobody': {
    'tools/root.ts': `import { a } from '../src/main/a.ts';`,
  },
  'examples-import-gen': {
    'examples/cursor.ts': `import { a } from '../src/contract/a.ts';`,
    'examples/root.ts': `import { a } from '../src/main/a.ts';`,
    'examples/support.ts': `import { a } from '../test/support/a.ts';`,
  },
  'src-stands-alone': {
    'src/main/support.ts': `import { a } from '../../test/support/a.ts';`,
  },
  'clients-stand-alone': {
    'clients/typescript/src/gateway.ts': `import { a } from '../../../src/merchant-api/a.ts';`,
    'clients/typescript/src/package.ts': `import 'fastify';`,
    'clients/typescript/src/node.ts': `import 'node:crypto';`,
  },
  'nats-behind-platform': {
    'src/main/broker.ts': `import 'nats';`,
    'src/platform/broker.ts': `import type { A } from 'nats';`,
  },
  'process-in-main': {
    'src/platform/settings.ts': `import process from 'node:process';`,
    'src/cli/exit.ts': `import { exit } from 'process';`,
  },
  'no-unresolvable': {
    'src/platform/moved.ts': `import { a } from './no-such-file.ts';`,
    'src/platform/absent.ts': `import 'no-such-package';`,
  },
  'no-undeclared-package': {
    'src/platform/by-chance.ts': `import 'undeclared';`,
  },
  'no-dev-package-in-src': {
    'src/platform/tool.ts': `import 'dev-only';`,
  },
};
const plantedFiles = Object.entries(planted).flatMap(([rule, files]) =>
  Object.entries(files).map(([file, statement]) => [rule, file, statement] as const),
);

const permitted: Readonly<Record<string, string>> = {
  'src/core/domain/a.ts': `export const a = 1; export type A = number;`,
  'src/core/domain/b.ts': `import type { A } from './a.ts';`,
  'src/core/database/a.ts': `import { a } from '../domain/a.ts'; export { a };`,
  'src/core/merchants/merchant-store.ts': `import { a } from '../database/a.ts'; import 'node:crypto'; export { a }; export type A = 1;`,
  'src/core/merchants/find-merchant.ts': `import { a } from './merchant-store.ts'; export { a };`,
  'src/core/payments/orders/pay.ts': `import { a } from '../../merchants/find-merchant.ts'; import '../changes/change-orders.ts'; import '../../../platform/a.ts'; import '../../../gen/a_pb.js';`,
  [`${changes}/change-orders.ts`]: orderWriters.map((file) => `import './${file}';`).join(' '),
  ...Object.fromEntries(
    orderWriters.map((file) => [`${changes}/${file}`, `import '../../domain/a.ts'; export const a = 1;`]),
  ),
  'src/gen/a_pb.js': `import 'fastify'; export const A = 1;`,
  'src/gen/a_pb.d.ts': `export declare const A: 1; export type A = 1;`,
  'src/gen/google/rpc/a_pb.js': `export const A = 1;`,
  'src/platform/a.ts': `import 'fastify'; import 'node:http'; import '../gen/google/rpc/a_pb.js'; export const a = 1;`,
  'src/contract/a.ts': `import '../platform/a.ts'; import '../gen/a_pb.js'; export const a = 1;`,
  'src/platform/nats/nats-event-bus.ts': `import 'nats';`,
  'src/merchant-api/a.ts': `import { A } from '../gen/a_pb.js'; export const a = A;`,
  ...Object.fromEntries(
    ['rest-facade', 'checkout', 'wallets', 'webhooks', 'dashboard', 'cli'].map((edge) => [
      `src/${edge}/a.ts`,
      `import '../gen/a_pb.js'; import '../platform/a.ts'; import '../contract/a.ts'; import '../merchant-api/a.ts'; import 'fastify'; export const a = 1;`,
    ]),
  ),
  'src/wallet-simulator/a.ts': `import '../platform/a.ts'; import 'fastify';`,
  'src/main/a.ts': `import process from 'node:process'; import '../core/merchants/merchant-store.ts'; import '../rest-facade/a.ts'; export const a = 1;`,
  'src/main/all.ts': `import './a.ts';`,
  'scripts/prepare.ts': `import '../src/main/a.ts';`,
  'bench/load.ts': `import '../src/main/a.ts';`,
  'examples/follow.ts': `import './file.ts'; import '../src/gen/a_pb.js'; import 'fastify'; import 'nats'; import 'node:fs';`,
  'examples/file.ts': `export const a = 1;`,
  'src/platform/types.ts': `import type { D } from 'dev-only';`,
  'test/support/a.ts': `import '../../src/main/a.ts'; import '../../src/core/merchants/merchant-store.ts'; import 'dev-only'; import 'nats'; export const a = 1;`,
  // The packed client has types that name its sources.
  'clients/typescript/dist/types.d.ts': `export type { A } from './openapi.ts';`,
  'package.json': JSON.stringify({
    type: 'module',
    dependencies: { fastify: '1.0.0', nats: '1.0.0' },
    devDependencies: { 'dev-only': '1.0.0' },
  }),
  'tsconfig.json': JSON.stringify({
    compilerOptions: { module: 'nodenext', allowImportingTsExtensions: true, noEmit: true },
  }),
  ...Object.fromEntries(
    ['fastify', 'nats', 'dev-only', 'undeclared'].flatMap((name) => [
      [
        `node_modules/${name}/package.json`,
        JSON.stringify({ name, version: '1.0.0', type: 'module', exports: './index.js' }),
      ],
      [`node_modules/${name}/index.js`, `export const name = '${name}';`],
    ]),
  ),
};

describe('import rules', () => {
  const tree = sharedFolder();
  let violations: readonly Violation[];

  beforeAll(async () => {
    const files = [
      ...Object.entries(permitted),
      ...plantedFiles.map(([, file, statement]) => [file, statement] as const),
      ['src/core/reports/left/uses-right.ts', `import '../right/used.ts';`] as const,
      ['src/core/reports/left/used.ts', `export const a = 1;`] as const,
      ['src/core/reports/right/uses-left.ts', `import '../left/used.ts';`] as const,
      ['src/core/reports/right/used.ts', `export const a = 1;`] as const,
      ['src/platform/ring-one.ts', `import './ring-two.ts';`] as const,
      ['src/platform/ring-two.ts', `import './ring-one.ts';`] as const,
      // A type alone is refused too.
      ['src/wallets/left/one.ts', `import '../right/end.ts';`] as const,
      ['src/wallets/right/end.ts', `export type End = 1;`] as const,
      ['src/wallets/right/two.ts', `import type { End } from '../left/end.ts';`] as const,
      ['src/wallets/left/end.ts', `export type End = 1;`] as const,
    ];
    for (const [file, text] of files) {
      await mkdir(dirname(join(tree, file)), { recursive: true });
      await writeFile(join(tree, file), `${text}\n`);
    }
    violations = await cruise(tree, ['src', 'test', 'scripts', 'bench', 'tools', 'examples', 'clients']);
  });

  const rulesBrokenBy = (file: string) =>
    violations.filter(({ from }) => from === file).map(({ rule }) => rule.name);

  test.each(plantedFiles)('%s refuses, in %s: %s', (rule, file) => {
    expect(rulesBrokenBy(file)).toEqual([rule]);
  });

  test('no-circular refuses two files that import each other', () => {
    expect(rulesBrokenBy('src/platform/ring-one.ts')).toEqual(['no-circular']);
  });

  test('no-folder-cycle refuses two folders that import each other, though none of their files do', () => {
    expect(rulesBrokenBy('src/core/reports/left')).toEqual(['no-folder-cycle']);
    expect(rulesBrokenBy('src/core/reports/right')).toEqual(['no-folder-cycle']);
    expect(rulesBrokenBy('src/wallets/left')).toEqual(['no-folder-cycle']);
    expect(rulesBrokenBy('src/wallets/left/one.ts')).toEqual([]);
  });

  test('the files that write orders exist under these names', async () => {
    expect(await readdir(join(root, changes))).toEqual(expect.arrayContaining(orderWriters));
  });

  test('imports that follow the rules are allowed', () => {
    expect(Object.keys(permitted).flatMap(rulesBrokenBy)).toEqual([]);
  });

  test('every rule has refused something in these tests', async () => {
    const { default: rules } = (await import(config)) as {
      default: { forbidden: readonly { name: string }[] };
    };

    const caught = new Set(violations.map(({ rule }) => rule.name));
    expect([...caught].sort()).toEqual(rules.forbidden.map(({ name }) => name).sort());
  });
});
