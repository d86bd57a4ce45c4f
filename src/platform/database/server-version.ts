import type { Pool } from 'pg';
import { SettingsError } from '../settings/read-settings.ts';

const oldestMajor = 18;

/** The reason why Gatehouse cannot use a server of this version; undefined for one that it can use. `version` is PostgreSQL's `server_version`. */
export const versionRefusal = (version: string): string | undefined =>
  Number.parseInt(version, 10) >= oldestMajor
    ? undefined
    : `Gatehouse needs PostgreSQL ${oldestMajor} or newer, and the server of GATEHOUSE_DATABASE_URL has version ${version}. Upgrade that server, or use another one`;

/** @throws SettingsError for a server that is too old */
export async function requireVersion(pool: Pool): Promise<void> {
  const { rows } = await pool.query<{ server_version: string }>('show server_version');
  const refusal = versionRefusal(rows[0]?.server_version ?? '');
  if (refusal !== undefined) throw new SettingsError(refusal);
}
