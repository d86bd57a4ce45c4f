import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';

const root = join(import.meta.dirname, '../../..');

/** The commands of a section of tls.md, a text for each of its steps. */
function stepsOf(title: string): string[] {
  const page = readFileSync(join(root, 'docs/operating/tls.md'), 'utf8');
  const [, section = ''] = page.split(`### ${title}\n`);
  const [own = ''] = section.split(/^##/m);
  return own
    .split(/^\d\. /m)
    .slice(1)
    .map((step) => /```sh\n([^]*?)```/.exec(step)?.[1] ?? /`([^`]+)`/.exec(step)?.[1] ?? '');
}

test('while an authority is replaced as tls.md says, processes trust each other, even if one has not read the files of the latest step', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-authority-'));
  const run = (command: string): unknown =>
    execFileSync('sh', ['-euc', command], { cwd: folder, stdio: 'pipe' });
  const keep = (state: number): void =>
    cpSync(join(folder, 'certificates'), join(folder, `${state}`), { recursive: true });
  try {
    symlinkSync(join(root, 'scripts'), join(folder, 'scripts'));
    run('scripts/make-certificates certificates postgres=db.internal');
    keep(0);
    const steps = stepsOf('Replace the authority');
    for (const [index, step] of steps.entries()) {
      run(`umask 077; ${step}`);
      keep(index + 1);
      for (const [reader, sender] of [
        [index, index + 1],
        [index + 1, index],
      ])
        run(
          `openssl verify -verify_hostname db.internal -CAfile ${reader}/core/ca.crt ${sender}/postgres/tls.crt`,
        );
      run(`test -z "$(find certificates/core ! -type d ! -perm -444)"`);
    }

    expect(steps).toHaveLength(4);
    expect(() => run('openssl verify -CAfile 4/core/ca.crt 0/postgres/tls.crt')).toThrow();
  } finally {
    rmSync(folder, { recursive: true });
  }
});
