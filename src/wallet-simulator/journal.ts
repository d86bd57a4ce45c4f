import { appendFileSync, existsSync, mkdirSync, readFileSync, truncateSync } from 'node:fs';
import { dirname } from 'node:path';
import { Type } from '@sinclair/typebox';
import type { Static } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { amountPattern } from './amount.ts';
import { errorCategories, errorCodes } from './refusal.ts';
import { descriptionSchema } from './schemas.ts';

const text = Type.String();
const party = Type.Object({ key: text, value: text });

/** The date was validated on arrival. The validator here does not know date formats. */
const description = Type.Object({ ...descriptionSchema.properties, requestDate: Type.Optional(text) });

/** A payment or a reversal was accepted. */
const opened = Type.Object({
  kind: Type.Literal('opened'),
  serverCorrelationId: text,
  clientCorrelationId: Type.Optional(text),
  callbackUrl: Type.Optional(text),
  awaitsPerson: Type.Boolean(),
  transaction: Type.Object({
    reference: text,
    type: Type.Union([Type.Literal('merchantpay'), Type.Literal('reversal'), Type.Literal('adjustment')]),
    debitAccount: text,
    creditAccount: text,
    debitParty: Type.Array(party),
    creditParty: Type.Array(party),
    amount: Type.String({ pattern: amountPattern }),
    currency: text,
    description,
    originalReference: Type.Optional(text),
    createdAt: text,
  }),
});

/** The request ended. It failed if there is a refusal, and completed otherwise. */
const ended = Type.Object({
  kind: Type.Literal('ended'),
  serverCorrelationId: text,
  at: text,
  refusal: Type.Optional(
    Type.Object({
      category: Type.Union(errorCategories.map((category) => Type.Literal(category))),
      code: Type.Union(errorCodes.map((code) => Type.Literal(code))),
      description: text,
      parameters: Type.Array(party),
    }),
  ),
});

const journalEntry = Type.Union([opened, ended]);

export type OpenedEntry = Static<typeof opened>;
export type JournalEntry = Static<typeof journalEntry>;

/** The state of a wallet that survives a restart. */
export interface Journal {
  /** All earlier entries, oldest first. */
  readonly entries: () => readonly JournalEntry[];
  /** The entry is written when this returns. */
  readonly append: (entry: JournalEntry) => void;
}

/** A journal in memory, which ends with the process. */
export function createMemoryJournal(): Journal {
  const entries: JournalEntry[] = [];
  return { entries: () => [...entries], append: (entry) => void entries.push(entry) };
}

/**
 * A journal in a file, with a line of JSON for each entry. It survives any exit of the process. It may not survive a
 * crash of the machine, because it is not synced to disk. An incomplete last line was never acknowledged, and is
 * dropped.
 * @throws Error with the line number when the file is not a journal.
 */
export function openFileJournal(path: string): Journal {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  if (existsSync(path)) dropUnfinishedLine(path);
  return {
    entries: () =>
      (existsSync(path) ? readFileSync(path, 'utf8') : '').split('\n').slice(0, -1).map(parseLine(path)),
    append: (entry) => appendFileSync(path, `${JSON.stringify(entry)}\n`, { mode: 0o600 }),
  };
}

function dropUnfinishedLine(path: string): void {
  const bytes = readFileSync(path);
  const length = bytes.lastIndexOf('\n') + 1;
  if (length < bytes.length) truncateSync(path, length);
}

const parseLine =
  (path: string) =>
  (line: string, index: number): JournalEntry => {
    const entry = parseJson(line);
    if (Value.Check(journalEntry, entry)) return entry;
    throw new Error(`${path}, line ${index + 1} is not a journal entry: delete the file to start anew`);
  };

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
