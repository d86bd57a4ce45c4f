// Checks that src/gen is what proto/ generates. The code is in git, so that nothing needs to be built.
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { ROOT, runLocal } from './run-local.mjs';

const COMMITTED = join(ROOT, 'src', 'gen');

/** The content of every file in a folder, by relative path. */
async function readTree(folder) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return new Map(
    await Promise.all(files.map(async (file) => [relative(folder, file), await readFile(file, 'utf8')])),
  );
}

function differences(committed, generated) {
  const names = [...new Set([...committed.keys(), ...generated.keys()])].sort();
  return names
    .filter((name) => committed.get(name) !== generated.get(name))
    .map((name) => {
      if (!generated.has(name)) return `  src/gen/${name}: no .proto generates it any more`;
      return committed.has(name) ? `  src/gen/${name}: differs` : `  src/gen/${name}: missing`;
    });
}

const scratch = await mkdtemp(join(tmpdir(), 'gatehouse-generated-'));
try {
  const { code, output } = await runLocal(['buf', 'generate', '-o', scratch]);
  if (code !== 0) {
    console.error(`buf generate failed:\n${output}`);
    process.exitCode = 1;
  } else {
    const found = differences(await readTree(COMMITTED), await readTree(join(scratch, 'src', 'gen')));
    if (found.length > 0) {
      console.error(
        `src/gen differs from the code that proto/ generates: run \`npm run generate\` and commit the result.`,
      );
      console.error(found.join('\n'));
      process.exitCode = 1;
    }
  }
} finally {
  await rm(scratch, { recursive: true, force: true });
}
