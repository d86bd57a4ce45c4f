import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, test } from '@jest/globals';
import { displayFields, parsedTexts } from './display-text.ts';
import type { DisplayField } from './display-text.ts';
import { listFiles, root } from './repository-files.ts';

/** Text of other programs that is in no message of the contract. */
const textsOfLibraries: readonly DisplayField[] = [{ name: 'raw_message', localName: 'rawMessage' }];

let fields: readonly DisplayField[];

beforeAll(async () => {
  fields = [...(await displayFields()), ...textsOfLibraries];
});

/** Files that parse such text, the number of places, and the reason. */
const exceptions = {
  // grpc-js names the cause of a lost connection, and whether the request was sent, only in its message.
  'src/cli/rpc-failure.ts': 3,
  // NATS names the limit of a full stream only in its message. Its error code is the same for all limits.
  'src/platform/nats/publish-stored.ts': 1,
};

test('no process parses text that another process wrote for people', async () => {
  const parsed: Record<string, number> = {};
  const places: string[] = [];
  for (const file of await listFiles('src/*.ts')) {
    if (file.startsWith('src/gen/')) continue;
    const found = parsedTexts(await readFile(join(root, file), 'utf8'), fields);
    if (found.length === 0) continue;
    parsed[file] = found.length;
    if (!Object.hasOwn(exceptions, file)) places.push(...found.map((place) => `${file}:${place}`));
  }

  expect(places).toEqual([]);
  expect(parsed).toEqual(exceptions);
});

test.each([
  'const isPaused = (answer) => answer.endpoint.pauseReason.startsWith("answered 410");',
  'const commands = (sentences) => sentences.length; reply.sentences.filter((line) => /gatehouse [a-z]+/.test(line));',
  'const { detail } = attempt; const [kind] = detail.split(" ");',
  'const { detail: said } = attempt; switch (said) { case "refused": return 1; }',
  'const isCommand = (line) => /gatehouse/.exec(line); reply.sentences.filter(isCommand);',
  'for (const gap of status.gaps) if (gap === "order lost") count += 1;',
  'const text = check.advice ?? ""; const words = text.trim().toLowerCase(); words.includes("restart");',
  'function kindOf(text) { return kinds[text]; } kindOf(difference.advice);',
  'if (error.rawMessage.includes("not found")) return undefined;',
  'await client.query(`select 1 from findings where starts_with(detail, $1)`);',
  "await client.query(`select 1 from lanes l where l.last_result like '4%'`);",
])('a planted violation is found: %s', (code) => {
  expect(parsedTexts(code, fields)).toHaveLength(1);
});

test.each([
  'const shown = `${attempt.detail} (${endpoint.pauseReason})`;',
  'await save(attempt.detail.replaceAll("\\0", "?")); if (refusal.problem === "forbidden") return;',
  'const isThere = attempt.detail !== ""; const short = attempt.detail.slice(0, 200);',
  'const lines = reply.sentences.map((text) => `<li>${escape(text)}</li>`).join("");',
  'await client.query(`select detail from findings where code = $1`);',
])('text that is only shown is no violation: %s', (code) => {
  expect(parsedTexts(code, fields)).toEqual([]);
});

test('the contract marks its text for people', () => {
  expect(fields.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['sentences', 'detail', 'advice', 'last_result', 'pause_reason', 'gaps']),
  );
});
