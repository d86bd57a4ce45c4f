// Runs on the user's Node (20 or newer) before any package is installed, so it uses Node's own modules only.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { canInstallPackages, installPackages } from './apt-get.mjs';

/** The Debian packages that the tests of Gatehouse's PHP code need: PHP with libraries, MariaDB and WordPress. */
const packages = [
  'php-cli',
  'php-curl',
  'php-mbstring',
  'php-xml',
  'composer',
  'phpunit',
  'php-guzzlehttp-guzzle',
  'php-nyholm-psr7',
  'php-psr-http-client',
  'php-psr-http-factory',
  'php-symfony-http-client',
  'mariadb-server',
  'php-mysql',
  'wordpress',
];

const libraries = ['GuzzleHttp', 'Nyholm/Psr7', 'Psr/Http/Client', 'Symfony/Component/HttpClient'];

export function missingForPhp() {
  const programs = ['php', 'phpunit', 'composer'].filter(
    (program) => spawnSync(program, ['--version'], { stdio: 'ignore' }).status !== 0,
  );
  const folders = libraries.filter((library) => !existsSync(`/usr/share/php/${library}/autoload.php`));
  const absent = [...programs, ...folders];
  return absent.length === 0 ? undefined : `${absent.join(', ')} not installed`;
}

export function missingForWordPress() {
  const files = ['/usr/share/wordpress/wp-load.php', '/usr/sbin/mariadbd', '/usr/bin/mariadb-install-db'];
  const absent = files.filter((file) => !existsSync(file));
  return missingForPhp() ?? (absent.length === 0 ? undefined : `${absent.join(', ')} not installed`);
}

export async function installPhp(report) {
  if (missingForWordPress() === undefined) return;
  if (canInstallPackages()) {
    report('Installing PHP, WordPress and MariaDB with apt-get (once)');
    await installPackages(packages);
  }
  const missing = missingForWordPress();
  if (missing !== undefined)
    report(`Tests of the PHP code are skipped: ${missing}. They need:\n  ${packages.join(' ')}`);
}
