import { existsSync } from 'node:fs';

const setpriv = '/usr/bin/setpriv';

/**
 * The command line that makes the kernel send `signal` to a program when its parent exits for any reason. Without
 * setpriv (util-linux, essential in Debian) the program runs unchanged, and the next start ends leftovers.
 */
export function exitWithParent(signal: NodeJS.Signals, command: string, args: readonly string[]) {
  return existsSync(setpriv)
    ? { command: setpriv, args: ['--pdeathsig', signal.replace(/^SIG/, ''), '--', command, ...args] }
    : { command, args };
}
