import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { openFileJournal } from '../../../src/wallet-simulator/journal.ts';
import { journalEntry } from '../../../src/wallet-simulator/gsma/journal-entries.ts';
import type { JournalEntry } from '../../../src/wallet-simulator/gsma/journal-entries.ts';
import { startCallbackReceiver } from './callback-receiver.ts';
import { createManualTime } from './manual-time.ts';
import { errorOf, startSimulator } from './simulator-under-test.ts';
import type { SimulatorUnderTest } from './simulator-under-test.ts';

let folder: string;
let simulator: SimulatorUnderTest | undefined;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'wallet-simulator-'));
});
afterEach(async () => {
  await simulator?.close();
  simulator = undefined;
  await rm(folder, { recursive: true });
});

const journalFile = (): string => join(folder, 'journals', 'walleta.jsonl');

/** Stops the running simulator, if there is one, and starts another on the same journal. */
async function start(
  time = createManualTime('2026-05-04T08:00:00Z'),
  interactive = false,
): Promise<SimulatorUnderTest> {
  await simulator?.close();
  simulator = await startSimulator({ journal: openFileJournal(journalFile()), time, interactive });
  return simulator;
}

test('payments, failures, reversals and balances are restored', async () => {
  const first = await start();
  const paid = await first.pay('251900000019', { body: { descriptionText: 'Two coffees' } });
  const failed = await first.pay('251900000002');
  first.time.pass(1_000);
  const reference = String(paid.json['objectReference']);
  await first.call(`/transactions/${reference}/reversals`, { body: { type: 'reversal', amount: '1.5' } });
  first.time.pass(1_000);
  const read = async ({ call, charges, prompts, ledgers }: SimulatorUnderTest) => ({
    transaction: (await call(`/transactions/${reference}`)).json,
    state: (await call(`/requeststates/${String(failed.json['serverCorrelationId'])}`)).json,
    charges: await charges(),
    prompts: await prompts(),
    accounts: ledgers.walleta.accounts(),
  });
  const before = await read(first);

  const second = await start(first.time);

  expect(await read(second)).toEqual(before);
  expect(before.charges).toMatchObject([{ amount: '101.5', reversed: '1.5' }]);
});

test('a failed reversal is still failed, and the next one is executed', async () => {
  const first = await start();
  const paid = await first.pay('251900000026');
  first.time.pass(1_000);
  const reverse = ({ call }: SimulatorUnderTest) =>
    call(`/transactions/${String(paid.json['objectReference'])}/reversals`, { body: { type: 'reversal' } });
  await reverse(first);

  const second = await start(createManualTime(first.time.now().toISOString()));
  second.time.pass(1_000);
  const afterFirst = await second.charges();
  const third = await start(second.time);
  await reverse(third);
  third.time.pass(1_000);

  expect(afterFirst).toMatchObject([{ reversed: '0' }]);
  expect(await third.charges()).toMatchObject([{ reversed: '100.5' }]);
});

test('an open payment continues from its state, and sends its callback', async () => {
  const receiver = await startCallbackReceiver();
  const first = await start();
  const { json } = await first.pay('251911223344', { callbackUrl: receiver.url });
  first.time.pass(400);

  const second = await start(createManualTime(first.time.now().toISOString()));
  second.time.pass(599);
  const early = await second.charges();
  second.time.pass(1);
  const [callback] = await receiver.wait(1);
  await receiver.close();

  expect(early).toEqual([]);
  expect(callback?.json).toMatchObject({ transactionReference: json['objectReference'], amount: '100.5' });
  expect(await second.charges()).toHaveLength(1);
});

test('a payment that a person was to decide still waits, and expires in time', async () => {
  const first = await start(undefined, true);
  await first.pay('251911223344');

  const second = await start(createManualTime('2026-05-04T08:01:59.999Z'), true);
  const waiting = await second.prompts();
  second.time.pass(1);

  expect(waiting).toMatchObject([{ status: 'open', awaits_person: true }]);
  expect(await second.prompts()).toMatchObject([{ status: 'failed', error: { provider_code: 'expired' } }]);
});

test('a correlation id is a duplicate after a restart too', async () => {
  const correlationId = '0198c0de-0000-7000-8000-000000000001';
  const first = await start();
  await first.pay('251911223344', { correlationId });

  const second = await start(first.time);
  const again = await second.pay('251911223344', { correlationId });
  second.time.pass(1_000);

  expect(again.json['errorCode']).toBe('duplicateRequest');
  expect(await second.charges()).toHaveLength(1);
});

test('a restart in between does not execute a reversal twice', async () => {
  const first = await start();
  const reference = String((await first.pay('251911223344')).json['objectReference']);
  first.time.pass(1_000);
  const reverse = ({ call }: SimulatorUnderTest) =>
    call(`/transactions/${reference}/reversals`, { body: { type: 'reversal' } });
  await reverse(first);

  const second = await start(first.time);
  const again = await reverse(second);
  second.time.pass(1_000);

  expect(errorOf(again)).toBe('400 businessRule incorrectState');
  expect(await second.charges()).toMatchObject([{ amount: '100.5', reversed: '100.5' }]);
});

test('an incomplete last entry is dropped, and the next one is complete', async () => {
  const entry: JournalEntry = { kind: 'ended', serverCorrelationId: '1', at: '2026-05-04T08:00:00.000Z' };
  openFileJournal(journalFile()).of(journalEntry).append(entry);
  await writeFile(journalFile(), '{"kind":"opened","serverCorr', { flag: 'a' });

  const journal = openFileJournal(journalFile()).of(journalEntry);
  journal.append(entry);

  expect(journal.entries()).toEqual([entry, entry]);
});

test('an entry that does not fit on the disk leaves no part of its line', async () => {
  const source = (path: string) =>
    JSON.stringify(import.meta.resolve(`../../../src/wallet-simulator/${path}`));
  const appendWhileItFits = `
    const { openFileJournal } = await import(${source('journal.ts')});
    const { journalEntry } = await import(${source('gsma/journal-entries.ts')});
    const journal = openFileJournal(process.argv[1]).of(journalEntry);
    for (;;) journal.append({ kind: 'ended', serverCorrelationId: '1', at: '2026-05-04T08:00:00.000Z' });`;
  const node = [process.execPath, '--input-type=module', '-e', appendWhileItFits, journalFile()];

  // Files of this shell have at most 1 KiB, in place of a full disk.
  const filling = promisify(execFile)('bash', ['-c', 'ulimit -f 1; exec "$@"', 'bash', ...node]);

  await expect(filling).rejects.toThrow('EFBIG');
  expect(await readFile(journalFile(), 'utf8')).toMatch(/^(\{.+\}\n)+$/);
});

test('a payment whose end cannot be recorded stays open, and ends once it can be', async () => {
  const { pay, time, charges } = await start();
  await pay('251911223344');
  // A folder in its place cannot be written to, not even by root.
  await rename(journalFile(), `${journalFile()}.full`);
  await mkdir(journalFile());
  time.pass(1_500);
  const before = await charges();
  await rm(journalFile(), { recursive: true });
  await rename(`${journalFile()}.full`, journalFile());

  time.pass(1_000);

  expect([before, await charges()]).toMatchObject([[], [{ amount: '100.5' }]]);
  expect(await (await start(time)).charges()).toHaveLength(1);
});

test('a file that is not a journal is refused with the line', async () => {
  openFileJournal(journalFile());
  await writeFile(journalFile(), '{"kind":"other"}\n');

  expect(() => openFileJournal(journalFile()).of(journalEntry).entries()).toThrow(
    /walleta\.jsonl, line 1 is not a journal entry/,
  );
});

test('only its owner can read a journal, because it has phone numbers and callback URLs', async () => {
  const { pay } = await start();
  await pay('251911223344');

  expect((await stat(journalFile())).mode & 0o777).toBe(0o600);
  expect(await readFile(journalFile(), 'utf8')).toMatch(/^\{"kind":"opened".*\}\n$/);
});
