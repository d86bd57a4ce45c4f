import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { execFile, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { findClientLibraries } from '../../scripts/client-libraries.mjs';
import { missingForPhp } from '../../scripts/php.mjs';
import { readOpenApiDocument } from '../../scripts/openapi-document.ts';
import { describeDocument } from '../../src/rest-facade/reference/describe-document.ts';
import type { Endpoint, ReferenceView } from '../../src/rest-facade/reference/describe-document.ts';
import type { OpenApiDocument } from '../../src/rest-facade/reference/openapi-types.ts';
import { sharedFolder } from '../support/shared-folder.ts';

const run = promisify(execFile);
const clients = join(import.meta.dirname, '..', '..', 'clients');
const python = findClientLibraries('Python client');
const phpProblem = missingForPhp();
const hasGo = spawnSync('go', ['version']).status === 0;

interface Sent {
  readonly target: string;
  readonly key: unknown;
  readonly body: unknown;
}

/** A gateway that answers each endpoint with the example of the reference, and keeps the requests of each key. */
const sent: Sent[] = [];
const gateway = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const target = request.url ?? '';
    const body: unknown = JSON.parse(Buffer.concat(chunks).toString());
    sent.push({ target, key: request.headers['apikey'], body });
    const success = endpoints.find(({ path }) => path === target.split('?')[0])?.successes[0];
    response.writeHead(Number(success?.status ?? 404), { 'content-type': 'application/json' });
    response.end(success?.example ?? '{}');
  });
});

let view: ReferenceView;
let endpoints: readonly Endpoint[];
const folder = sharedFolder();
beforeAll(async () => {
  gateway.listen(0, '127.0.0.1');
  await once(gateway, 'listening');
  const { port } = gateway.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  const document = (await readOpenApiDocument()) as OpenApiDocument;
  view = describeDocument({ ...document, servers: [{ url, description: 'Sandbox' }] });
  endpoints = view.groups.flatMap((group) => group.endpoints).filter(({ isTriable }) => isTriable);
});
afterAll(() => {
  gateway.close();
  gateway.closeAllConnections();
});

const codeOf = (language: string, examples: Endpoint['examples']): string => {
  const code = examples.find((each) => each.language === language)?.code;
  if (code === undefined) throw new TypeError(`no example in ${language}`);
  return code;
};

/** Runs the setup and the examples of all endpoints as one program, and returns the requests that arrived. */
async function requestsOf(
  language: string,
  program: (setup: string, calls: readonly string[]) => Promise<void>,
): Promise<Sent[]> {
  sent.length = 0;
  const setup = language === 'curl' ? '' : codeOf(language, view.setups);
  await program(
    setup,
    endpoints.map(({ examples }) => codeOf(language, examples)),
  );
  return [...sent];
}

const env = { ...process.env, API_KEY: 'svc_test_example' };
const expected = (): Sent[] =>
  endpoints.map(({ path, body }) => ({
    target: path === '/api/v1/direct' ? `${path}?payment_option=walleta_ussd` : path,
    key: 'svc_test_example',
    body: JSON.parse(body ?? '') as unknown,
  }));

test('the examples of the reference in curl send what the reference says', async () => {
  const requests = await requestsOf('curl', async (_setup, calls) => {
    await run('sh', ['-ec', calls.join('\n')], { env });
  });
  expect(requests.length).toBeGreaterThanOrEqual(6);
  expect(requests).toEqual(expected());
});

test('the examples of the reference in TypeScript run with the client, and send the same', async () => {
  const requests = await requestsOf('TypeScript', async (setup, calls) => {
    const client = pathToFileURL(join(clients, 'typescript', 'src', 'gatehouse-client.ts')).href;
    const file = join(folder, 'examples.ts');
    const blocks = calls.map((call) => `{\n${call}\n}`).join('\n');
    await writeFile(file, `${setup.replace('gatehouse-client', client)}\n${blocks}`);
    await run(process.execPath, [file], { env });
  });
  expect(requests).toEqual(expected());
});

(python === undefined ? test.skip : test)(
  `the examples of the reference in Python run with the client, and send the same${python === undefined ? ' (not tested: npm test could not install its Python packages)' : ''}`,
  async () => {
    const requests = await requestsOf('Python', async (setup, calls) => {
      const PYTHONPATH = join(clients, 'python', 'src');
      const options = { env: { ...env, PYTHONPATH, PYTHONDONTWRITEBYTECODE: '1' } };
      await run(join(python ?? '', 'bin', 'python'), ['-c', [setup, ...calls].join('\n')], options);
    });
    expect(requests).toEqual(expected());
  },
);

(phpProblem === undefined ? test : test.skip)(
  `the examples of the reference in PHP run with the client, and send the same${phpProblem === undefined ? '' : ` (not tested: ${phpProblem})`}`,
  async () => {
    const requests = await requestsOf('PHP', async (setup, calls) => {
      const code = [setup, ...calls].join('\n').replace('vendor/autoload.php', 'tests/autoload.php');
      await run('php', ['-r', code], { cwd: join(clients, 'php'), env });
    });
    expect(requests).toEqual(expected());
  },
);

(hasGo ? test : test.skip)(
  `the examples of the reference in Go run with the client, and send the same${hasGo ? '' : ' (not tested: Go is not installed)'}`,
  async () => {
    const requests = await requestsOf('Go', async (setup, calls) => {
      const cwd = join(folder, 'go');
      await cp(join(clients, 'go'), cwd, { recursive: true });
      const blocks = calls.map((call) => `{\n${call}\n_ = reply\ncheck(err)\n}`).join('\n');
      const check = 'func check(err error) {\nif err != nil {\npanic(err)\n}\n}';
      const body = `ctx := context.Background()\n${setup}\ncheck(err)\n${blocks}`;
      const imports = 'import (\n"context"\n"os"\n"gatehouse.example/gatehouse"\n)';
      const main = `package main\n${imports}\n${check}\nfunc main() {\n${body}\n}\n`;
      await mkdir(join(cwd, 'examples'));
      await writeFile(join(cwd, 'examples', 'main.go'), main);
      await run('go', ['run', './examples'], { cwd, env });
    });
    expect(requests).toEqual(expected());
  },
);
