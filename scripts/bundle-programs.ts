/** Bundles the programs into a folder, for the image: node scripts/bundle-programs.ts <folder> */
import { resolve } from 'node:path';
import { bundlePrograms } from '../src/main/local/bundle-programs.ts';

const [folder] = process.argv.slice(2);
if (folder === undefined) {
  console.error('error: name the folder for the programs: node scripts/bundle-programs.ts <folder>');
  process.exit(2);
}
await bundlePrograms(resolve(import.meta.dirname, '..'), resolve(folder));
