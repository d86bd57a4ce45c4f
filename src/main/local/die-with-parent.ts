import { existsSync } from 'node:fs';

const setpriv = '/usr/bin/setpriv';

/**
 * The command line that runs a program so that the kernel sends it `signal` when the process that starts it is gone,
 * however that ended. Without setpriv (util-linux, essential in Debian) the program is run as it is: the next start
 * ends what was left.
 */
export function dieWithParent(signal: NodeJS.Signals, command: string, args: readonly string[]) {
  return existsSync(setpriv)
    ? { command: setpriv, args: ['--pdeathsig', signal.replace(/^SIG/, ''), '--', command, ...args] }
    : { command, args };
}
