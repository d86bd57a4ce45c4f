import { join, relative } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { certificateOf } from '../../../src/wallets/mpesa-daraja/certificate-setting.ts';
import { sharedFolder } from '../../support/shared-folder.ts';

describe('the certificate of M-Pesa', () => {
  const file = join(sharedFolder(), 'missing.pem');

  test('names a file that cannot be read by its absolute path, and why', () => {
    expect(() => certificateOf({ certificate_file: relative('', file) })).toThrow(
      `certificate_file ${file} cannot be read (ENOENT)`,
    );
  });
});
