import { delimiter } from 'node:path';

/** PATH plus the folders of system programs, which Debian omits for ordinary users and plain `su`. */
export function systemPath(path = ''): string {
  const folders = [...path.split(delimiter), '/usr/local/sbin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];
  return [...new Set(folders)].filter((folder) => folder !== '').join(delimiter);
}
