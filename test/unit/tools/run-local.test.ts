import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';

const root = join(import.meta.dirname, '..', '..', '..');

test('a missing program is reported at once, and does not keep the process alive', () => {
  const script = `const { runLocal } = await import('./tools/run-local.mjs');
    console.log(JSON.stringify(await runLocal(['no-such-program'])));`;

  const ran = spawnSync(process.execPath, ['--input-type=module', '-e', script], { cwd: root });

  expect(ran.status).toBe(0);
  expect(JSON.parse(String(ran.stdout))).toMatchObject({ code: 127 });
});
