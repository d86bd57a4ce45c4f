/** The part of semver that a release uses. The package has no types of its own. */
declare module 'semver' {
  const semver: { readonly inc: (version: string, release: 'patch' | 'minor' | 'major') => string | null };
  export default semver;
}
