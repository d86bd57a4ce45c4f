// Checks that integrations written for the last release of the merchant API still work. oasdiff compares clients/openapi.json with that of
// the newest release (tag v*), or with clients/released/openapi.json while no release has one. It is a Go program, so the check is skipped
// where Go is not installed.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newestRelease } from './newest-release.mjs';
import { ROOT, runLocal } from './run-local.mjs';

const OASDIFF = 'github.com/oasdiff/oasdiff@v1.35.0';

/** Changes that oasdiff reports although they break no client. Each line repeats a line of its output. Emptied at each release. */
const HARMLESS = join(ROOT, 'clients', 'released', 'harmless-changes.txt');

async function lastReleased() {
  const tag = await newestRelease();
  if (tag !== undefined) {
    const { code, output } = await runLocal(['git', 'show', `${tag}:clients/openapi.json`]);
    if (code === 0) return { name: tag, text: output };
  }
  const name = 'clients/released/openapi.json';
  return { name, text: await readFile(join(ROOT, name), 'utf8') };
}

/**
 * The document with its webhooks as replies. Merchants read the body of a webhook as they read a reply, so a new field breaks
 * nobody and a missing one does. As a request it would be the other way round.
 */
function withWebhooksAsReplies(text) {
  const { webhooks = {}, ...document } = JSON.parse(text);
  for (const [name, { post }] of Object.entries(webhooks)) {
    const { requestBody, parameters, operationId } = post;
    const headers = Object.fromEntries(parameters.map(({ name: header, schema }) => [header, { schema }]));
    const responses = { 200: { description: 'webhook', headers, content: requestBody.content } };
    document.paths[`/webhook/${name}`] = { post: { operationId, responses } };
  }
  return JSON.stringify(document);
}

async function compare() {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-api-breaking-'));
  try {
    const [before, after] = [join(folder, 'released.json'), join(folder, 'openapi.json')];
    const released = await lastReleased();
    await writeFile(before, withWebhooksAsReplies(released.text));
    await writeFile(
      after,
      withWebhooksAsReplies(await readFile(join(ROOT, 'clients', 'openapi.json'), 'utf8')),
    );
    const options = ['--format', 'singleline', '--fail-on', 'WARN', '--warn-ignore', HARMLESS];
    const { code, output } = await runLocal(['go', 'run', OASDIFF, 'breaking', before, after, ...options]);
    if (code === 0) return { code, output: '' };
    return { code: 1, output: `Against ${released.name}, the merchant API breaks its clients:\n${output}` };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const { code: missing } = await runLocal(['go', 'version']);
if (missing !== 0) {
  console.log('skipped: Go is not installed');
} else {
  const { code, output } = await compare();
  if (code !== 0) console.error(output.trimEnd());
  process.exitCode = code;
}
