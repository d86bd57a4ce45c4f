import { delimiter } from 'node:path';

/** PATH with the folders of system programs, which Debian leaves out of it for ordinary users and for plain `su`. */
export function systemPath(path = ''): string {
  const folders = [...path.split(delimiter), '/usr/local/sbin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];
  return [...new Set(folders)].filter((folder) => folder !== '').join(delimiter);
}
