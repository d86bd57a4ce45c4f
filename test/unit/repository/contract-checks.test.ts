import { execFile } from 'node:child_process';
import { appendFile, cp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from '@jest/globals';
import { temporaryFolders } from '../local/temporary-folder.ts';

const root = join(import.meta.dirname, '..', '..', '..');
const order = 'proto/gatehouse/v1/order.proto';

const newFolder = temporaryFolders();
let copy: string;

beforeEach(async () => {
  copy = await newFolder();
  for (const path of ['proto', 'tools', 'buf.yaml', 'buf.gen.yaml']) {
    await cp(join(root, path), join(copy, path), { recursive: true });
  }
  await symlink(join(root, 'node_modules'), join(copy, 'node_modules'));
});

function run(program: string, ...args: string[]): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    const child = execFile(program, args, { cwd: copy }, (_error, stdout, stderr) =>
      resolve({ code: child.exitCode ?? 1, output: stdout + stderr }),
    );
  });
}

const runTool = (name: string, ...args: string[]) => run(process.execPath, join('tools', name), ...args);

async function release(tag: string): Promise<void> {
  const settings = ['user.name=test', 'user.email=test@example.com', 'commit.gpgsign=false'];
  const identity = settings.flatMap((setting) => ['-c', setting]);
  await run('git', 'init', '--quiet');
  await run('git', 'add', 'proto', 'buf.yaml');
  await run('git', ...identity, 'commit', '--quiet', '--message', 'release');
  await run('git', 'tag', tag);
}

async function renameField(): Promise<void> {
  const text = await readFile(join(copy, order), 'utf8');
  await writeFile(join(copy, order), text.replace('string order_number =', 'string order_reference ='));
}

test('only generated code that was edited, added or left behind is named, with the command that repairs it', async () => {
  await cp(join(root, 'src/gen'), join(copy, 'src/gen'), { recursive: true });
  await appendFile(join(copy, 'src/gen/gatehouse/v1/order_pb.js'), '// edited\n');
  await writeFile(join(copy, 'src/gen/gatehouse/v1/gone_pb.js'), '');
  await rm(join(copy, 'src/gen/gatehouse/v1/order_pb.d.ts'));

  const { code, output } = await runTool('generated.mjs');

  expect(code).toBe(1);
  expect(output).toContain('npm run generate');
  expect(output.match(/(?<=^ {2}src\/gen\/).*/gm)).toEqual([
    'gatehouse/v1/gone_pb.js: no .proto generates it any more',
    'gatehouse/v1/order_pb.d.ts: missing',
    'gatehouse/v1/order_pb.js: differs',
  ]);
});

test('a contract that adds to the newest release passes', async () => {
  await release('v1.0.0');
  await appendFile(join(copy, order), '\n// Added later.\nmessage AddedLater {}\n');

  expect(await runTool('breaking.mjs')).toEqual({ code: 0, output: '' });
});

test('a contract that breaks the clients of the newest release is refused', async () => {
  await release('v1.0.0');
  await renameField();

  const { code, output } = await runTool('breaking.mjs');

  expect(code).toBe(1);
  expect(output).toContain('Against v1.0.0');
  expect(output).toContain('changed name from "order_number" to "order_reference"');
});

test('without a release, the comparison reports that it was skipped', async () => {
  const { code, output } = await runTool('breaking.mjs');

  expect(code).toBe(0);
  expect(output).toMatch(/^skipped: /);
});

test('an unknown ref is an error', async () => {
  await release('v1.0.0');

  const { code, output } = await runTool('breaking.mjs', 'no-such-ref');

  expect(code).not.toBe(0);
  expect(output).toContain('no-such-ref');
});
