import { appendFileSync, existsSync, mkdirSync, readFileSync, truncateSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Static, TSchema } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { parseJson } from '../platform/parse-json.ts';

/** The state of a wallet that survives a restart. */
export interface Journal<Entry> {
  /** All earlier entries, oldest first. */
  readonly entries: () => readonly Entry[];
  /** The entry is written when this returns. */
  readonly append: (entry: Entry) => void;
}

/** The journal of one wallet. Each protocol has entries of its own. */
export interface JournalFile {
  /** `entries` throws an Error with the position of an entry that does not match the schema. */
  readonly of: <Schema extends TSchema>(schema: Schema) => Journal<Static<Schema>>;
  /** Another journal of the wallet. An earlier version of the simulator, which does not know its entries, does not read it. */
  readonly beside: (name: string) => JournalFile;
}

/** A journal in memory, which ends with the process. */
export function createMemoryJournal(): JournalFile {
  const entries: unknown[] = [];
  const others = new Map<string, JournalFile>();
  return {
    of: (schema) => ({
      entries: () => entries.map((entry) => Value.Decode(schema, entry)),
      append: (entry) => void entries.push(entry),
    }),
    beside(name) {
      const other = others.get(name) ?? createMemoryJournal();
      others.set(name, other);
      return other;
    },
  };
}

/**
 * A journal in a file, with a line of JSON for each entry. It survives any exit of the process. It may not survive a
 * crash of the machine, because it is not synced to disk. An incomplete last line was never acknowledged, and is
 * dropped.
 */
export function openFileJournal(path: string): JournalFile {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  if (existsSync(path)) dropUnfinishedLine(path);
  return {
    of: (schema) => ({
      entries: () =>
        (existsSync(path) ? readFileSync(path, 'utf8') : '')
          .split('\n')
          .slice(0, -1)
          .map((line, index) => {
            const entry = parseJson(line);
            if (Value.Check(schema, entry)) return entry;
            throw new Error(
              `${path}, line ${index + 1} is not a journal entry: delete the file to start again without it`,
            );
          }),
      append: (entry) => {
        try {
          appendFileSync(path, `${JSON.stringify(entry)}\n`, { mode: 0o600 });
        } catch (error) {
          // A full disk may have taken a part of the line, which the next entry would continue.
          if (existsSync(path)) dropUnfinishedLine(path);
          throw error;
        }
      },
    }),
    beside: (name) => openFileJournal(path.replace(/\.jsonl$/, `.${name}.jsonl`)),
  };
}

function dropUnfinishedLine(path: string): void {
  const bytes = readFileSync(path);
  const length = bytes.lastIndexOf('\n') + 1;
  if (length < bytes.length) truncateSync(path, length);
}
