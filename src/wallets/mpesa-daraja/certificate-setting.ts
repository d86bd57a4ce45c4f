import { readFileSync } from 'node:fs';
import type { KeyObject } from 'node:crypto';
import { resolve } from 'node:path';
import { codeOf } from '../../platform/error-code.ts';
import { readCertificate } from './security-credential.ts';

/**
 * The key of M-Pesa's certificate, from its text or its file.
 * @throws TypeError that names the setting to correct
 */
export function certificateOf(settings: {
  readonly certificate_pem?: string;
  readonly certificate_file?: string;
}): KeyObject {
  const { certificate_pem: pem, certificate_file: file } = settings;
  if (pem !== undefined && file === undefined) return readCertificate(pem);
  if (file === undefined || pem !== undefined) {
    throw new TypeError('give either certificate_pem or certificate_file, with the certificate of M-Pesa');
  }
  return readCertificate(readText(file));
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new TypeError(`certificate_file ${resolve(file)} cannot be read (${codeOf(error)})`, {
      cause: error,
    });
  }
}
