import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Eta } from 'eta';

/**
 * The templates of a folder, as they are now. Code that was loaded with them may not fit those of another version, which an upgrade
 * writes into the same folder while the process runs. They are compiled on first use, and escape all values.
 */
export function readTemplates(folder: string): Eta {
  const texts = new Map(
    globSync('**/*.eta', { cwd: folder }).map((name) => {
      const path = join(folder, name);
      return [path, readFileSync(path, 'utf8')] as const;
    }),
  );
  const eta = new Eta({ views: folder, cache: true, autoEscape: true });
  eta.readFile = (path) => {
    const text = texts.get(path);
    if (text === undefined) throw new Error(`there was no template ${path} when this process started`);
    return text;
  };
  return eta;
}
