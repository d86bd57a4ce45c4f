import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { canInstallPackages, installPackages } from './apt-get.mjs';

/** Debian's packages of PHP, and of what the tests of Gatehouse's PHP code need: a WordPress is among it. */
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

/** What the tests of the PHP code need and this machine lacks; undefined when it has all. */
export function missingForPhp(): string | undefined {
  const programs = ['php', 'phpunit', 'composer'].filter(
    (program) => spawnSync(program, ['--version'], { stdio: 'ignore' }).status !== 0,
  );
  const folders = libraries.filter((library) => !existsSync(`/usr/share/php/${library}/autoload.php`));
  const absent = [...programs, ...folders];
  return absent.length === 0 ? undefined : `${absent.join(', ')} not installed`;
}

/** What the tests in a real WordPress need and this machine lacks; undefined when it has all. */
export function missingForWordPress(): string | undefined {
  const files = ['/usr/share/wordpress/wp-load.php', '/usr/sbin/mariadbd', '/usr/bin/mariadb-install-db'];
  const absent = files.filter((file) => !existsSync(file));
  return missingForPhp() ?? (absent.length === 0 ? undefined : `${absent.join(', ')} not installed`);
}

/** Installs, as root on Debian, what the tests of the PHP code need. Without it they are skipped, each with its name. */
export function installPhp(report: (line: string) => void): void {
  if (missingForWordPress() === undefined) return;
  if (canInstallPackages()) {
    report('Installing PHP, WordPress and MariaDB with apt-get (once)');
    installPackages(packages);
  }
  const missing = missingForWordPress();
  if (missing !== undefined)
    report(`Tests of the PHP code are skipped: ${missing}. They need:\n  ${packages.join(' ')}`);
}
