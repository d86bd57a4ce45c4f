import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { merchantApiVersion } from '../src/merchant-api/version.ts';

/** The places that say the version of the clients. The first group of the pattern is the version. */
const places: readonly (readonly [file: string, pattern: RegExp])[] = [
  ['clients/openapi.json', /"info": \{[^}]*"version": "([^"]*)"/],
  ['clients/CHANGELOG.md', /^## (\S+)/m],
  ['clients/typescript/package.json', /^ {2}"version": "([^"]*)"/m],
  ['clients/typescript/src/version.ts', /version = '([^']*)'/],
  ['clients/go/client.go', /^const Version = "([^"]*)"/m],
  ['clients/python/pyproject.toml', /^version = "([^"]*)"/m],
  ['clients/python/src/gatehouse_client/_version.py', /__version__ = "([^"]*)"/],
  ['clients/php/src/Version.php', /VERSION = '([^']*)'/],
  ['clients/woocommerce/gatehouse-for-woocommerce.php', /^ \* Version: +(\S+)/m],
  ['clients/woocommerce/readme.txt', /^Stable tag: (\S+)/m],
];

/** The places whose version differs from that of the merchant API, each with what it says. */
export async function differingVersions(root: string): Promise<readonly string[]> {
  const found = await Promise.all(
    places.map(async ([file, pattern]) => {
      const version = pattern.exec(await readFile(join(root, file), 'utf8'))?.[1];
      return version === merchantApiVersion
        ? []
        : [
            `${file} says ${version ?? 'nothing'}, and src/merchant-api/version.ts says ${merchantApiVersion}`,
          ];
    }),
  );
  return found.flat();
}
