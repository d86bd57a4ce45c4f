import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import { waitsMs } from '../../../src/webhooks/domain/retry-schedule.ts';
import type { LiveSecrets } from '../../../src/contract/webhook-signature.ts';
import { signedHeaders } from '../../../src/contract/webhook-signature.ts';
import { waitUntil } from '../../support/wait-until.ts';
import type { Language } from './documented-snippets.ts';
import { exampleRequest, languages, pageText, snippet } from './documented-snippets.ts';

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

function newFolder(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-snippets-'));
  folders.push(folder);
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

const newSecret = () => `whsec_${randomBytes(32).toString('base64')}`;
const old = newSecret();
const next = newSecret();
const id = 'evt_01jd4r7c2mf9vx3k8h5w0q6tzn';
const body = Buffer.from('{"id":"evt_01jd4r7c2mf9vx3k8h5w0q6tzn","data":{"reason":"ሦስት መጻሕፍት 📚\\u0000"}}');

interface Case {
  readonly what: string;
  readonly kind: 'standard' | 'svc';
  readonly id: string;
  readonly timestamp: string;
  readonly signature: string;
  readonly body: Buffer;
  readonly known: readonly string[];
  readonly isGenuine: boolean;
}

/** A webhook that Gatehouse signed, verified in both ways by a receiver with these secrets. */
function bothWays(
  what: string,
  live: LiveSecrets,
  known: readonly string[],
  [isStandard, isSvc]: readonly [boolean, boolean],
  over: { readonly at?: Date; readonly body?: Buffer } = {},
): Case[] {
  const headers = signedHeaders({ eventId: id, body, at: over.at ?? new Date(), secrets: live });
  const kinds = [
    ['standard', 'webhook-signature', isStandard],
    ['svc', 'X-SVC-HMAC-Signature', isSvc],
  ] as const;
  return kinds.map(([kind, header, isGenuine]) => ({
    ...{ kind, id, timestamp: headers['webhook-timestamp']!, signature: headers[header]! },
    ...{ what: `${header}: ${what}`, body: over.body ?? body, known, isGenuine },
  }));
}

/** A genuine case that is not genuine any more with this change. */
const refused = (genuine: Case, what: string, change: Partial<Case>): Case => ({
  ...genuine,
  ...change,
  what,
  isGenuine: false,
});

function allCases(): Case[] {
  const before = { current: old };
  const during = { current: old, next };
  const after = { current: next };
  const yes = [true, true] as const;
  const no = [false, false] as const;
  const minutesAgo = (minutes: number) => ({ at: new Date(Date.now() - minutes * 60_000) });
  const [standard, svc] = bothWays('', during, [old, next], yes);
  return [
    ...bothWays('before a rotation, by the old secret', before, [old], yes),
    ...bothWays('before a rotation, the new one put in place too early', before, [next], no),
    ...bothWays('during it, by both', during, [old, next], yes),
    ...bothWays('during it, by the old one', during, [old], yes),
    ...bothWays('during it, by the new one', during, [next], [true, false]),
    ...bothWays('after it, by both', after, [old, next], yes),
    ...bothWays('after it, by the new one', after, [next], yes),
    ...bothWays('after it, by the old one', after, [old], no),
    ...bothWays("by another's secret", during, [newSecret()], no),
    ...bothWays('a byte more', during, [old, next], no, { body: Buffer.concat([body, Buffer.from(' ')]) }),
    ...bothWays('another body', during, [old, next], no, { body: Buffer.from('{}') }),
    ...bothWays('no body', during, [old, next], no, { body: Buffer.alloc(0) }),
    ...bothWays('a minute old', during, [old], yes, minutesAgo(1)),
    ...bothWays('ten minutes old: only one of them tells', during, [old], [false, true], minutesAgo(10)),
    ...bothWays('ten minutes early: only one of them tells', during, [old], [false, true], minutesAgo(-10)),
    { ...standard!, what: 'more signatures', signature: `v1a,AAAA ${standard!.signature}`, isGenuine: true },
    refused(standard!, 'another id', { id: 'evt_01jd4r7c2mf9vx3k8h5w0q6tzm' }),
    refused(standard!, 'no version', { signature: standard!.signature.replaceAll('v1,', '') }),
    ...['', ' ', 'v1', 'v1,', 'v1,AAAA', 'v1a,AAAA', 'é', 'v1,ሦስት', 'null'].map((signature) =>
      refused(standard!, `the webhook-signature ${JSON.stringify(signature)}`, { signature }),
    ),
    ...['', '0', '-1', 'abc', '1e9', '9'.repeat(20), '9'.repeat(400), `${standard!.timestamp}0`].map(
      (timestamp) => refused(standard!, `the webhook-timestamp ${JSON.stringify(timestamp)}`, { timestamp }),
    ),
    ...['', 'é', 'abcd', svc!.signature.slice(0, -1), `${svc!.signature}0`].map((signature) =>
      refused(svc!, `the X-SVC-HMAC-Signature ${JSON.stringify(signature)}`, { signature }),
    ),
  ];
}

/** The verdict of the page's code on each case. */
function judge(language: Language, cases: readonly Case[]): string[] {
  const folder = newFolder({
    ...language.files,
    [language.path ?? language.snippet]: snippet(language.snippet),
  });
  const base64 = (value: string | Buffer) => Buffer.from(value).toString('base64');
  const input = cases
    .map((one) => [one.kind, one.id, one.timestamp, one.signature, one.body, one.known.join(',')])
    .map((fields) => `${fields.map(base64).join('\t')}\n`)
    .join('');
  const env = { ...process.env, NODE_OPTIONS: '', ...language.environment?.(folder) };
  const outputs = language.commands.map(([program, ...args]) =>
    execFileSync(program, args, { cwd: folder, env, input, stdio: ['pipe', 'pipe', 'pipe'] }).toString(),
  );
  return (outputs.at(-1) ?? '').split('\n').slice(0, -1);
}

const isHere = (program: string, versionFlag: string): boolean =>
  spawnSync(program, [versionFlag], { stdio: 'ignore' }).status === 0;

describe('the code on the page accepts genuine webhooks only', () => {
  for (const language of languages) {
    const missing = language.tools.find(([program, flag]) => !isHere(program, flag));
    const title = missing === undefined ? language.name : `${language.name} (skipped: no ${missing[0]} here)`;
    (missing === undefined ? test : test.skip)(
      title,
      () => {
        const cases = allCases();

        const verdicts = judge(language, cases);

        expect(cases.map(({ what }, index) => `${what}: ${verdicts[index]}`)).toEqual(
          cases.map(({ what, isGenuine }) => `${what}: ${isGenuine ? 'genuine' : 'refused'}`),
        );
      },
      // A compiler that runs for the first time, on a busy machine.
    );
  }
});

describe('openssl', () => {
  /** Both signatures, as the page's script prints them. */
  function printed(secret: string, timestamp: string, bytes: Buffer): string[] {
    const folder = newFolder({ 'signatures.sh': snippet('signatures.sh') });
    writeFileSync(join(folder, 'body.json'), bytes);
    const env = { PATH: process.env['PATH'], SECRET: secret, WEBHOOK_ID: id, WEBHOOK_TIMESTAMP: timestamp };
    return execFileSync('sh', ['-eu', 'signatures.sh'], { cwd: folder, env }).toString().split('\n');
  }

  test.each([
    ['before a rotation, the old secret', { current: old }, old, [true, true]],
    ['during it, the old one', { current: old, next }, old, [true, true]],
    ['during it, the new one', { current: old, next }, next, [true, false]],
    ['after it, the new one', { current: next }, next, [true, true]],
    ['after it, the old one', { current: next }, old, [false, false]],
  ])(
    'prints the signatures that the secret has in the headers: %s',
    (_when, secrets, secret, [isStandard, isSvc]) => {
      const headers = signedHeaders({ eventId: id, body, at: new Date(), secrets });

      const [standard, svc] = printed(secret, headers['webhook-timestamp']!, body);

      expect(headers['webhook-signature']!.split(' ').includes(`v1,${standard}`)).toBe(isStandard);
      expect(headers['X-SVC-HMAC-Signature'] === svc).toBe(isSvc);
    },
  );
});

describe('the example request', () => {
  const { headers, body: exampleBody, secret } = exampleRequest();

  test('is signed with the example secret', () => {
    const at = new Date(Number(headers['webhook-timestamp']) * 1000);

    const signed = signedHeaders({
      eventId: headers['webhook-id']!,
      body: exampleBody,
      at,
      secrets: { current: secret },
    });

    for (const [name, value] of Object.entries(signed)) expect(headers[name.toLowerCase()]).toBe(value);
  });

  test('has the event that its headers name', () => {
    const event: unknown = JSON.parse(exampleBody.toString());

    expect(event).toMatchObject({
      id: headers['webhook-id'],
      type: 'order.completed',
      environment: 'sandbox',
    });
  });
});

test('the table of attempts shows the real schedule', () => {
  const words: Readonly<Record<string, number>> = { second: 1_000, minute: 60_000, hour: 3_600_000 };
  const rows = [...pageText().matchAll(/^\| ([0-9]+) +\| ([0-9]+) (second|minute|hour)s? +\|/gm)];

  expect(rows.map(([, attempt]) => Number(attempt))).toEqual(waitsMs.map((_, index) => index + 2));
  expect(rows.map(([, , count, unit]) => Number(count) * words[unit!]!)).toEqual([...waitsMs]);
});

/** Sends a part of a body, and disconnects when the server reads it. */
async function disconnectWithinBody(port: number): Promise<void> {
  const socket = connect(port, 'localhost');
  socket.write('POST / HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n{');
  await once(socket, 'data');
  socket.destroy();
}

test('the receiver on the page accepts genuine webhooks once and no others, even after a client disconnected', async () => {
  const folder = newFolder({
    'receiver.ts': snippet('receiver.ts'),
    'verify-webhook.ts': snippet('verify-webhook.ts'),
  });
  const child = spawn(process.execPath, ['receiver.ts'], {
    cwd: folder,
    env: { PATH: process.env['PATH'], PORT: '0', WEBHOOK_SECRETS: `${old},${next}` },
  });
  const ended = once(child, 'exit');
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  try {
    const port = await waitUntil('it listens', () => /port: ([0-9]+)/.exec(output)?.[1]);
    await disconnectWithinBody(Number(port));
    await waitUntil(
      'the receiver notices it',
      () => output.includes('not answered') || child.exitCode !== null,
    );
    const event = Buffer.from(
      JSON.stringify({ id, type: 'order.failed', data: { order_number: 'INV-1', status: 'FAILED' } }),
    );
    const headers = signedHeaders({ eventId: id, body: event, at: new Date(), secrets: { current: next } });
    const post = async (bytes: Buffer) =>
      (await fetch(`http://localhost:${port}/`, { method: 'POST', headers, body: new Uint8Array(bytes) }))
        .status;

    const statuses = [await post(event), await post(event), await post(Buffer.from('{}'))];

    expect(statuses).toEqual([204, 204, 401]);
    expect(output.match(/order\.failed INV-1 FAILED/g)).toHaveLength(1);
  } finally {
    child.kill();
    await ended;
  }
});
