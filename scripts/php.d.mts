/** What the tests of the PHP code need and this machine lacks; undefined when it has all. */
export function missingForPhp(): string | undefined;

/** What the tests in a real WordPress need and this machine lacks; undefined when it has all. */
export function missingForWordPress(): string | undefined;

/** Installs, as root on Debian, what the tests of the PHP code need. Without it they are skipped, each with its name. */
export function installPhp(report: (line: string) => void): Promise<void>;
