/** The path of the installed Chromium, if there is one. */
export function findChromium(): string | undefined;

/** Ensures that Chromium is installed. As root on Debian, installs it. Returns how to install it, if it is still absent. */
export function findOrInstallChromium(report: (line: string) => void): Promise<string | undefined>;
