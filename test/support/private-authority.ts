import { execFile } from 'node:child_process';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { CertificatePaths } from '../../src/platform/tls/certificate-files.ts';

const run = promisify(execFile);
const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];

/** The files of a certificate and of the authority that signed it. */
export type IssuedFiles = CertificatePaths & { readonly own: NonNullable<CertificatePaths['own']> };

/** An authority that only its tests trust. */
export interface PrivateAuthority {
  readonly folder: string;
  readonly ca: string;
  /** Issues a certificate with these subjectAltNames. It expires after `days`; a negative number is the past. */
  readonly issue: (name: string, subjectAltName: string, days?: number) => Promise<IssuedFiles>;
}

export async function createPrivateAuthority(): Promise<PrivateAuthority> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-authority-'));
  const at = (name: string): string => join(folder, name);
  const ca = at('ca.crt');
  const subject = ['-subj', '/CN=Gatehouse test authority'];
  await run('openssl', [
    'req',
    '-x509',
    ...newKey,
    '-keyout',
    at('ca.key'),
    '-out',
    ca,
    '-days',
    '2',
    ...subject,
  ]);
  const issue = async (name: string, subjectAltName: string, days = 1): Promise<IssuedFiles> => {
    const [key, request, certificate, names] = [
      at(`${name}.key`),
      at(`${name}.csr`),
      at(`${name}.crt`),
      at(`${name}.ext`),
    ];
    await run('openssl', ['req', ...newKey, '-keyout', key, '-out', request, '-subj', `/CN=${name}`]);
    await writeFile(names, `subjectAltName=${subjectAltName}\n`);
    const signed = ['-CA', ca, '-CAkey', at('ca.key'), '-days', String(days), '-extfile', names];
    await run('openssl', ['x509', '-req', '-in', request, ...signed, '-out', certificate]);
    return { ca, own: { certificate, key } };
  };
  return { folder, ca, issue };
}
