import { expect, test } from '@jest/globals';
import { versionRefusal } from '../../../src/platform/database/server-version.ts';

test.each(['18.0', '18.4 (Debian 18.4-1.pgdg13+1)', '19beta1', '20.1'])(
  'PostgreSQL %s can be used',
  (version) => {
    expect(versionRefusal(version)).toBeUndefined();
  },
);

test.each(['9.6.24', '15.18 (Debian 15.18-0+deb12u1)', '17.9', ''])(
  'PostgreSQL "%s" is refused',
  (version) => {
    expect(versionRefusal(version)).toBe(
      `Gatehouse needs PostgreSQL 18 or newer, and the server of GATEHOUSE_DATABASE_URL has version ${version}. Upgrade that server, or use another one`,
    );
  },
);
