import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A key and its certificate, as PEM texts. */
export interface Certificate {
  readonly key: string;
  readonly cert: string;
}

interface LeafOptions {
  /** Subject alternative names as openssl writes them, such as DNS:shop.example or IP:127.0.0.1. */
  readonly names: string;
  readonly validFrom?: Date;
  readonly validTo?: Date;
  /** An elliptic curve's key when absent. */
  readonly key?: 'rsa';
}

const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
const newRsaKey = ['-newkey', 'rsa:2048', '-nodes'];
export const inDays = (days: number): Date => new Date(Date.now() + days * 24 * 3_600_000);

/** An authority for one test, which signs everything, made with the machine's openssl. */
export function openAuthority() {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-certificates-'));
  const path = (name: string) => join(folder, name);
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
  const read = (name: string) => readFileSync(path(name), 'utf8');
  const selfSign = (name: string, ...more: string[]) =>
    openssl(
      ...['req', '-x509', ...newKey, '-keyout', `${name}.key`, '-out', `${name}.pem`, '-subj', `/CN=${name}`],
      ...['-days', '2', ...more],
    );
  writeFileSync(path('index'), '');
  writeFileSync(
    path('ca.cnf'),
    [
      '[ca]\ndefault_ca = test\n[test]\ndatabase = index\nnew_certs_dir = .\ndefault_md = sha256\nrand_serial = yes',
      'policy = anything\nunique_subject = no\n[anything]\ncommonName = supplied\n',
    ].join('\n'),
  );
  selfSign('authority');

  return {
    /** Its own certificate, for clients that should trust it. */
    cert: read('authority.pem'),
    issue: ({ names, validFrom = inDays(-1), validTo = inDays(1), key }: LeafOptions): Certificate => {
      writeFileSync(path('leaf.ext'), `subjectAltName = ${names}\n`);
      const asked = key === 'rsa' ? newRsaKey : newKey;
      openssl('req', ...asked, '-keyout', 'leaf.key', '-out', 'leaf.csr', '-subj', '/CN=leaf');
      openssl(
        ...['ca', '-batch', '-notext', '-config', 'ca.cnf', '-cert', 'authority.pem'],
        ...['-keyfile', 'authority.key', '-in', 'leaf.csr', '-out', 'leaf.pem', '-extfile', 'leaf.ext'],
        ...['-startdate', asn1Time(validFrom), '-enddate', asn1Time(validTo)],
      );
      return { key: read('leaf.key'), cert: read('leaf.pem') };
    },
    /** Signed by itself instead. */
    selfSigned: (names: string): Certificate => {
      selfSign('lonely', '-addext', `subjectAltName = ${names}`);
      return { key: read('lonely.key'), cert: read('lonely.pem') };
    },
    /** Removes its files. */
    close: () => rmSync(folder, { recursive: true }),
  };
}
export type TestAuthority = ReturnType<typeof openAuthority>;

/** YYYYMMDDHHMMSSZ */
const asn1Time = (at: Date): string => `${at.toISOString().replace(/[-:T]/g, '').slice(0, 14)}Z`;
