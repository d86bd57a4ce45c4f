import { spawnSync } from 'node:child_process';

/** The folder of a Go module such as `example.com/module@v1.2.3`; undefined where Go or its modules cannot be had. */
export function findGoModule(module: string): string | undefined {
  const { status, stdout } = spawnSync('go', ['mod', 'download', '-json', module], {
    encoding: 'utf8',
    cwd: '/',
    timeout: 60_000,
  });
  return status === 0 ? (JSON.parse(stdout) as { readonly Dir?: string }).Dir : undefined;
}
