import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A key and its certificate, as PEM texts. */
export interface Certificate {
  readonly key: string;
  readonly cert: string;
}

export interface LeafOptions {
  /** Subject alternative names as openssl writes them, such as DNS:shop.example or IP:127.0.0.1. */
  readonly names: string;
  readonly validFrom?: Date;
  readonly validTo?: Date;
}

/** An authority for one test, which signs everything. */
export interface TestAuthority {
  /** Its own certificate, for clients that should trust it. */
  readonly cert: string;
  readonly issue: (options: LeafOptions) => Certificate;
  /** Signed by itself instead. */
  readonly selfSigned: (names: string) => Certificate;
  /** Removes its files. */
  readonly close: () => void;
}

const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
const dayMs = 24 * 3_600_000;

/** Made with the machine's openssl. */
export function openAuthority(): TestAuthority {
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
    cert: read('authority.pem'),
    issue({ names, validFrom = new Date(Date.now() - dayMs), validTo = new Date(Date.now() + dayMs) }) {
      writeFileSync(path('leaf.ext'), `subjectAltName = ${names}\n`);
      openssl('req', ...newKey, '-keyout', 'leaf.key', '-out', 'leaf.csr', '-subj', '/CN=leaf');
      openssl(
        ...['ca', '-batch', '-notext', '-config', 'ca.cnf', '-cert', 'authority.pem'],
        ...['-keyfile', 'authority.key', '-in', 'leaf.csr', '-out', 'leaf.pem', '-extfile', 'leaf.ext'],
        ...['-startdate', asn1Time(validFrom), '-enddate', asn1Time(validTo)],
      );
      return { key: read('leaf.key'), cert: read('leaf.pem') };
    },
    selfSigned(names) {
      selfSign('lonely', '-addext', `subjectAltName = ${names}`);
      return { key: read('lonely.key'), cert: read('lonely.pem') };
    },
    close: () => rmSync(folder, { recursive: true }),
  };
}

/** YYYYMMDDHHMMSSZ */
const asn1Time = (at: Date): string => `${at.toISOString().replace(/[-:T]/g, '').slice(0, 14)}Z`;
