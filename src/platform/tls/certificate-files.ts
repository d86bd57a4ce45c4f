import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import { codeOf } from '../error-code.ts';
import type { Logger } from '../logger.ts';
import { SettingsError } from '../settings/read-settings.ts';
import { certificatesIn, mustContainCertificates } from './pem-certificates.ts';

/** The paths of PEM files. A server needs all three; a client that shows no certificate has only the authority's. */
export interface CertificatePaths {
  /** The certificates of the authorities that this process trusts. */
  readonly ca: string;
  /** The process's own certificate, followed by intermediate ones, and its private key. */
  readonly own: { readonly certificate: string; readonly key: string } | undefined;
}

/** The contents of the files, which have been checked to fit together. */
export interface Certificates {
  readonly ca: Buffer;
  readonly own: { readonly certificate: Buffer; readonly key: Buffer } | undefined;
  /** When they expire, in milliseconds since 1970. Of several authorities, the first to expire counts. */
  readonly expiry: { readonly ca: number; readonly own: number | undefined };
  /** When the own certificate becomes valid, in milliseconds since 1970. */
  readonly validFrom: number | undefined;
}

/** The certificates of a process, which are read again while it runs. */
export interface CertificateFiles {
  readonly current: () => Certificates;
  /** Calls the listener after each change. The result removes it. */
  readonly onChange: (listener: (certificates: Certificates) => void) => () => void;
  /** Reads the files now. Files that cannot be used leave the current certificates in place. Never rejects. */
  readonly reload: () => Promise<void>;
  /** Stops reading the files. */
  readonly stop: () => void;
}

export interface CertificateFilesOptions {
  readonly paths: CertificatePaths;
  readonly logger: Logger;
  readonly now: () => Date;
  /** The time between two reads of the files. */
  readonly everyMs?: number;
}

/** Certificates are renewed hours before they expire, so seconds are soon enough. */
const standardIntervalMs = 5_000;

/**
 * Reads the files now, and uses their content when it changes. It compares the content, because Kubernetes replaces a symbolic link
 * in the path. That changes neither the file's modification time nor its folder's events.
 * @throws SettingsError when the files cannot be used at the start
 */
export function openCertificateFiles(options: CertificateFilesOptions): CertificateFiles {
  const { paths, logger, now, everyMs = standardIntervalMs } = options;
  const names = [paths.ca, ...(paths.own === undefined ? [] : [paths.own.certificate, paths.own.key])];
  let contents = names.map((name) => readOrThrow(name));
  const first = parseCertificates(paths, contents);
  if (typeof first === 'string') throw new SettingsError(first);
  let current = first;
  /** The problem of the certificate in use that was logged last. A certificate can also expire while it is in use. */
  let invalid: string | undefined;
  const logInvalid = (): void => {
    const problem = validityProblem(paths, current, now());
    if (problem !== undefined && problem !== invalid)
      logger.error(
        { files: names },
        `${problem}; other processes refuse this certificate until you replace it or correct the clock`,
      );
    invalid = problem;
  };
  logInvalid();
  const listeners = new Set<(certificates: Certificates) => void>();
  /** The problem that was logged last, and what to log when it has ended. It is logged again only after another one. */
  let known: { readonly problem: string; readonly ended: string } | undefined;
  const keep = (what: string, why: string, ended: string): void => {
    const problem = `${what}, so the previous certificates stay in use: ${why}`;
    if (problem !== known?.problem) logger.error({ files: names }, problem);
    known = { problem, ended };
  };
  const keepUsed = (why: string): void =>
    keep('the changed TLS files cannot be used', why, 'the TLS files contain the certificates in use again');
  const reload = async (): Promise<void> => {
    try {
      const read = await Promise.all(names.map((name) => readFile(name)));
      if (read.every((content, index) => contents[index]?.equals(content) === true)) {
        if (known !== undefined) logger.info({ files: names }, known.ended);
        known = undefined;
        logInvalid();
        return;
      }
      const next = parseCertificates(paths, read);
      if (typeof next === 'string') {
        keepUsed(next);
        return;
      }
      const unusable = validityProblem(paths, next, now());
      if (unusable !== undefined) {
        keepUsed(unusable);
        return;
      }
      contents = read;
      current = next;
      known = undefined;
      logger.info(
        { files: names, expires: new Date(next.expiry.own ?? next.expiry.ca).toISOString() },
        'new TLS certificates are in use for new connections',
      );
      for (const listener of listeners) listener(next);
    } catch (error) {
      keep('the TLS files cannot be read', unreadable(error), 'the TLS files can be read again');
    }
  };
  let reading = Promise.resolve();
  const timer = setInterval(() => {
    reading = reading.then(reload);
  }, everyMs).unref();
  return {
    current: () => current,
    onChange: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    reload: () => (reading = reading.then(reload)),
    stop: () => clearInterval(timer),
  };
}

/** Why files cannot be read, and what to do if they are not at fault. */
function unreadable(error: unknown): string {
  const code = codeOf(error);
  if (code === 'EMFILE' || code === 'ENFILE')
    return `this process has no free file descriptor (${code}); raise its limit of open files, and restart it`;
  return error instanceof Error ? error.message : String(error);
}

function readOrThrow(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    const why = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable';
    throw new SettingsError(`the TLS file ${path} cannot be read (${why})`);
  }
}

/** The certificates in the contents, or a sentence with the reason why they cannot be used. */
function parseCertificates(
  { ca: caPath, own }: CertificatePaths,
  contents: readonly Buffer[],
): Certificates | string {
  const [ca = Buffer.alloc(0), certificate, key] = contents;
  const authorities = certificatesIn(ca);
  if (authorities === undefined || authorities.length === 0) return `${caPath} ${mustContainCertificates}`;
  const caExpiry = Math.min(...authorities.map(({ validTo }) => Date.parse(validTo)));
  if (own === undefined || certificate === undefined || key === undefined)
    return { ca, own: undefined, expiry: { ca: caExpiry, own: undefined }, validFrom: undefined };
  const [leaf] = certificatesIn(certificate) ?? [];
  if (leaf === undefined) return `${own.certificate} ${mustContainCertificates}`;
  try {
    createSecureContext({ ca, cert: certificate, key });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return `${own.key} must contain the private key, without a passphrase, of the first certificate in ${own.certificate} (${why})`;
  }
  return {
    ca,
    own: { certificate, key },
    expiry: { ca: caExpiry, own: Date.parse(leaf.validTo) },
    validFrom: Date.parse(leaf.validFrom),
  };
}

function validityProblem({ own }: CertificatePaths, current: Certificates, now: Date): string | undefined {
  const { validFrom, expiry } = current;
  if (own === undefined || validFrom === undefined || expiry.own === undefined) return undefined;
  const shown = (atMs: number): string => new Date(atMs).toISOString();
  if (expiry.own <= now.getTime())
    return `the certificate in ${own.certificate} expired at ${shown(expiry.own)}`;
  if (validFrom > now.getTime())
    return `the certificate in ${own.certificate} is not valid before ${shown(validFrom)}`;
  return undefined;
}
