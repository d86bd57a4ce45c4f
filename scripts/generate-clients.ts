/**
 * `npm run clients` writes what is generated below `clients`: the OpenAPI document, the test vectors of signatures, and the
 * types of the TypeScript client. With --check it writes nothing, and fails when a file or a version differs.
 */
import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { differingVersions } from './client-versions.ts';
import { readOpenApiDocument } from './openapi-document.ts';
import { signatureVectors } from './signature-vectors.ts';

const root = join(import.meta.dirname, '..');
const asJson = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

/** TypeScript's types of the document. @throws Error when the generator fails */
async function typesOf(openApi: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-clients-'));
  try {
    const [document, types] = [join(folder, 'openapi.json'), join(folder, 'openapi.ts')];
    await writeFile(document, openApi);
    const generator = join(root, 'node_modules', 'openapi-typescript', 'bin', 'cli.js');
    const { status, stderr } = spawnSync(process.execPath, [generator, document, '--output', types], {
      encoding: 'utf8',
    });
    if (status !== 0) throw new Error(`openapi-typescript failed: ${stderr}`);
    return await readFile(types, 'utf8');
  } finally {
    await rm(folder, { recursive: true });
  }
}

const openApi = asJson(await readOpenApiDocument());
const generated: Readonly<Record<string, string>> = {
  'clients/openapi.json': openApi,
  'clients/signature-vectors.json': asJson(signatureVectors),
  'clients/typescript/src/openapi.ts': await typesOf(openApi),
};

if (process.argv.includes('--check')) {
  const problems: string[] = [];
  for (const [file, text] of Object.entries(generated)) {
    const committed = await readFile(join(root, file), 'utf8').catch(() => undefined);
    if (committed !== text)
      problems.push(
        `${file} differs from what the code gives: run \`npm run clients\` and commit the result.`,
      );
  }
  problems.push(...(await differingVersions(root)));
  for (const problem of problems) console.error(problem);
  process.exitCode = problems.length === 0 ? 0 : 1;
} else {
  for (const [file, text] of Object.entries(generated)) await writeFile(join(root, file), text);
}
