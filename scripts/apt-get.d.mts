/** Whether this process may install Debian packages. */
export function canInstallPackages(): boolean;

/** Installs Debian packages. Errors are printed, and the caller checks whether the program is there now. */
export function installPackages(packages: readonly string[]): Promise<void>;
