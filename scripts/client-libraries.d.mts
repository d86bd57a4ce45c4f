/**
 * The client libraries of others, which the tests run against the simulated wallets. Each language has a folder of its own,
 * so that old dependencies of these libraries are no dependencies of Gatehouse.
 */
export type Language = 'Node' | 'Python';

/** What is installed together: those libraries, and what the tests of Gatehouse's own client for Python need. */
export type PackageSet = Language | 'Python client';

/** The folder with a set of packages; undefined when `npm test` could not install them. */
export function findClientLibraries(set: PackageSet): string | undefined;

/**
 * Installs what is absent, and returns a report for each failure. A failure stops nothing: the tests that need the packages are
 * then skipped, each with its name.
 */
export function installClientLibraries(report: (line: string) => void): Promise<string[]>;
