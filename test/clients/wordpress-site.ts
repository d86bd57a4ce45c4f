import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { zipPlugin } from '../../scripts/woocommerce-plugin.ts';
import { waitUntil } from '../support/wait-until.ts';

const execute = promisify(execFile);
const stubs = join(import.meta.dirname, '../../clients/woocommerce/tests/stubs');

/** A real WordPress of Debian, with the plugin active, and with stubs of WooCommerce, which Debian does not have. */
export interface WordPressSite {
  readonly settings: { readonly GATEHOUSE_TEST_WORDPRESS: string };
  /** @throws Error with the notices of PHP that name the plugin */
  readonly stop: () => Promise<void>;
}

const configuration = (socket: string, log: string): string => `<?php
$GLOBALS['table_prefix'] = $table_prefix = 'wp_';
define('DB_NAME', 'shop');
define('DB_USER', '${userInfo().username}');
define('DB_PASSWORD', '');
define('DB_HOST', 'localhost:${socket}');
define('DB_CHARSET', 'utf8mb4');
define('DB_COLLATE', '');
$shop = getenv('GATEHOUSE_TEST_SHOP');
define('WP_HOME', is_string($shop) ? file_get_contents("$shop/url") : 'http://127.0.0.1');
define('WP_SITEURL', WP_HOME);
define('WP_DEBUG', true);
define('WP_DEBUG_DISPLAY', false);
define('WP_DEBUG_LOG', '${log}');
define('DISABLE_WP_CRON', true);
define('AUTOMATIC_UPDATER_DISABLED', true);
defined('ABSPATH') || define('ABSPATH', __DIR__ . '/');
require_once ABSPATH . 'wp-settings.php';
`;

/** Prints what WordPress reports about a zip or an activation that has a fault. */
const installation = `<?php
define('WP_INSTALLING', true);
require __DIR__ . '/wp-load.php';
require_once ABSPATH . 'wp-admin/includes/upgrade.php';
require_once ABSPATH . 'wp-admin/includes/plugin.php';
add_filter('pre_wp_mail', '__return_true');
wp_install('Abebe & Books', 'owner', 'owner@shop.example', true, '', 'secret');
require_once ABSPATH . 'wp-admin/includes/file.php';
WP_Filesystem();
$unpacked = unzip_file(ABSPATH . 'plugin.zip', WP_PLUGIN_DIR);
echo is_wp_error($unpacked) ? $unpacked->get_error_message() : '';
foreach (['woocommerce/woocommerce.php', 'gatehouse-for-woocommerce/gatehouse-for-woocommerce.php'] as $plugin) {
    $activated = activate_plugin($plugin);
    echo is_wp_error($activated) ? $activated->get_error_message() . $activated->get_error_data() : '';
}
`;

/** Starts MariaDB, and installs WordPress. @param plugin the folder of the plugin, as it is built */
export async function startWordPress(plugin: string): Promise<WordPressSite> {
  const root = await mkdtemp(join(tmpdir(), 'gatehouse-wordpress-'));
  const [data, socket, log, folder] = ['data', 'socket', 'debug.log', 'site'].map((name) =>
    join(root, name),
  ) as [string, string, string, string];
  const user = `--user=${userInfo().username}`;
  const copied = cp('/usr/share/wordpress', folder, { recursive: true, dereference: true });
  await execute('mariadb-install-db', [
    `--datadir=${data}`,
    user,
    '--auth-root-authentication-method=socket',
    `--auth-root-socket-user=${userInfo().username}`,
    '--skip-test-db',
    '--innodb-log-file-size=8M',
  ]);
  const small = ['--innodb-log-file-size=8M', '--innodb-buffer-pool-size=32M', '--performance-schema=OFF'];
  const safe = ['--skip-networking', '--skip-log-bin', '--innodb-flush-log-at-trx-commit=0'];
  const database = spawn(
    'mariadbd',
    ['--no-defaults', `--datadir=${data}`, `--socket=${socket}`, user, ...small, ...safe],
    { stdio: 'ignore' },
  );
  const ended = once(database, 'exit');
  const stop = async (): Promise<void> => {
    database.kill();
    await ended;
    await rm(root, { recursive: true });
  };
  try {
    await copied;
    const plugins = join(folder, 'wp-content/plugins');
    await mkdir(join(plugins, 'woocommerce'), { recursive: true });
    for (const file of ['woocommerce.php', 'blocks.php'])
      await cp(join(stubs, file), join(plugins, 'woocommerce', file));
    await writeFile(join(folder, 'plugin.zip'), await zipPlugin(plugin));
    await writeFile(join(folder, 'wp-config.php'), configuration(socket, log));
    await writeFile(join(folder, 'install.php'), installation);
    await waitUntil('MariaDB listens', () => existsSync(socket) || database.exitCode !== null);
    await execute('mariadb', [`--socket=${socket}`, '-e', 'CREATE DATABASE shop']);
    const { stdout } = await execute('php', [join(folder, 'install.php')]);
    if (stdout.trim() !== '') throw new Error(`WordPress did not take the plugin silently: ${stdout}`);
    return {
      settings: { GATEHOUSE_TEST_WORDPRESS: folder },
      stop: async () => {
        const lines = existsSync(log) ? (await readFile(log, 'utf8')).split('\n') : [];
        await stop();
        const notices = lines.filter((line) => line.includes('gatehouse-for-woocommerce'));
        if (notices.length > 0) throw new Error(notices.join('\n'));
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
