// Checks that clients of an earlier proto/ still work. `npm run breaking -- <git ref>` compares with that ref. Without a ref
// it compares with the newest release (tag v*) that HEAD descends from, because that is the version in use.
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newestRelease } from './newest-release.mjs';
import { ROOT, runLocal } from './run-local.mjs';

/** Puts proto/ and buf.yaml of the ref into a folder where buf finds imported contracts as it does here. */
async function checkOutContract(ref, folder) {
  const archive = join(folder, 'contract.tar');
  const archived = await runLocal(['git', 'archive', '--output', archive, ref, 'proto', 'buf.yaml']);
  if (archived.code !== 0) return archived;
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  return runLocal(['tar', '-xf', archive, '-C', folder]);
}

async function compareWith(ref) {
  const scratch = await mkdtemp(join(tmpdir(), 'gatehouse-breaking-'));
  try {
    const { code, output } = await checkOutContract(ref, scratch);
    if (code !== 0) return { code, output: `Cannot read the contract of ${ref}: ${output}` };
    const compared = await runLocal(['buf', 'breaking', 'proto', '--against', join(scratch, 'proto')]);
    if (compared.code === 0) return compared;
    return { code: 1, output: `Against ${ref}, proto/ breaks its clients:\n${compared.output}` };
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

const ref = process.argv[2] ?? (await newestRelease());
if (ref === undefined) {
  console.log('skipped: no release (tag v*) in this clone to compare with');
} else {
  const { code, output } = await compareWith(ref);
  if (code !== 0) console.error(output.trimEnd());
  process.exitCode = code;
}
