import { runLocal } from './run-local.mjs';

/** The newest release (tag v*) that HEAD descends from, because that is the version in use; undefined without one. */
export async function newestRelease() {
  const { code, output } = await runLocal(['git', 'describe', '--tags', '--abbrev=0', '--match', 'v*']);
  return code === 0 ? output.trim() : undefined;
}
