import { execFile, spawnSync } from 'node:child_process';
import { cp, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from '@jest/globals';
import { temporaryFolders } from '../local/temporary-folder.ts';

const root = join(import.meta.dirname, '..', '..', '..');
const hasGo = spawnSync('go', ['version']).status === 0;

const newFolder = temporaryFolders();
let copy: string;
beforeEach(async () => {
  copy = await newFolder();
  await symlink(join(root, 'node_modules'), join(copy, 'node_modules'));
  for (const path of ['clients', 'tools', 'package.json'])
    await cp(join(root, path), join(copy, path), { recursive: true });
});

function run(...args: string[]): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, args, { cwd: copy }, (_error, stdout, stderr) =>
      resolve({ code: child.exitCode ?? 1, output: stdout + stderr }),
    );
  });
}

async function change(file: string, from: string | RegExp, to: string): Promise<void> {
  const text = await readFile(join(copy, file), 'utf8');
  expect(text).toMatch(from);
  await writeFile(join(copy, file), text.replace(from, to));
}

test('a generated file that was edited, and a version that differs, are named', async () => {
  await cp(join(root, 'scripts'), join(copy, 'scripts'), { recursive: true });
  await symlink(join(root, 'src'), join(copy, 'src'));
  await change('clients/openapi.json', 'Gatehouse merchant API', 'Edited');
  await change('clients/signature-vectors.json', 'another merchant', 'edited');
  await change('clients/typescript/src/openapi.ts', 'export interface paths', 'export interface edited');
  await change('clients/typescript/package.json', /"version": "[^"]*"/, '"version": "9.9.9"');
  await change('clients/CHANGELOG.md', '\n## ', '\n## 9.9.8\n\n## ');

  const { code, output } = await run('scripts/generate-clients.ts', '--check');

  expect(code).toBe(1);
  expect(output.match(/^clients\S+ (differs|says \S+),?/gm)?.sort()).toEqual([
    'clients/CHANGELOG.md says 9.9.8,',
    'clients/openapi.json differs',
    'clients/signature-vectors.json differs',
    'clients/typescript/package.json says 9.9.9,',
    'clients/typescript/src/openapi.ts differs',
  ]);
  expect(output).toContain('npm run clients');
});

interface Schema {
  properties: Record<string, Record<string, unknown>>;
  required: string[];
}
interface Document {
  paths: Record<string, { post: { responses: Record<string, unknown> } }>;
  components: { schemas: Record<string, Schema> };
}

/** The document after changes, compared with the released one. */
async function compareAfter(edit: (document: Document) => void): Promise<{ code: number; output: string }> {
  const released = await readFile(join(copy, 'clients/released/openapi.json'), 'utf8');
  const document = JSON.parse(released) as Document;
  edit(document);
  await writeFile(join(copy, 'clients/openapi.json'), JSON.stringify(document));
  return run('tools/api-breaking.mjs');
}

const testWithGo = hasGo ? test : test.skip;

testWithGo(
  'new endpoints, optional fields of requests, and fields of replies and webhooks break nobody',
  async () => {
    const compared = await compareAfter(({ paths, components: { schemas } }) => {
      paths['/api/v1/cancel'] = paths['/api/v1/verify']!;
      paths['/api/v1/verify']!.post.responses['422'] = { description: 'Another problem.' };
      schemas['RegisterRequest']!.properties['note'] = { type: 'string' };
      for (const name of ['PaymentOrder', 'WebhookEvent']) {
        schemas[name]!.properties['note'] = { type: 'string' };
        schemas[name]!.required.push('note');
      }
    });

    expect(compared).toEqual({ code: 0, output: '' });
  },
);

testWithGo('what breaks the integrations of the last release is refused, and named', async () => {
  const { code, output } = await compareAfter(({ paths, components: { schemas } }) => {
    delete paths['/api/v1/refund'];
    const { responses } = paths['/api/v1/register']!.post;
    responses['200'] = responses['201'];
    delete responses['201'];
    schemas['RegisterRequest']!.required.push('webhook_url');
    schemas['DirectPaymentRequest']!.properties['order_number']!['maxLength'] = 10;
    schemas['PaymentOrder']!.properties['amount']!['type'] = 'number';
    schemas['PaymentOrder']!.required = schemas['PaymentOrder']!.required.filter((name) => name !== 'reason');
    schemas['Refund']!.properties['status']!['enum'] = ['PENDING', 'COMPLETED', 'FAILED', 'LOST'];
    delete schemas['WebhookEvent']!.properties['sequence'];
  });

  expect(code).toBe(1);
  expect(output).toContain('clients/released/openapi.json');
  for (const finding of [
    '/api/v1/refund api path removed',
    'removed the success response with the status `201`',
    '`webhook_url` became required',
    "`order_number` request property's maxLength was decreased",
    '`data/amount` response',
    '`data/reason` from the response|`data/reason` became optional',
    '`LOST` enum value',
    '/webhook/orderEnded removed the required property `sequence`',
  ])
    expect(output).toMatch(new RegExp(finding.replaceAll(/[/]/g, '\\/')));
});
