import { Gauge } from 'prom-client';
import type { Metrics } from '../metrics.ts';
import type { CertificateFiles } from './certificate-files.ts';
import type { ServerCertificate } from './server-certificate.ts';

/** An open connection may be older than the certificate of its server, so a new one is made at this interval. */
const readAgainMs = 300_000;

/**
 * Shows when the certificates in use expire, so that an alert can precede it. Without TLS there is no value.
 * @param servers PostgreSQL as `database`, and NATS as `broker`
 */
export function addTlsMetrics(
  { registry }: Pick<Metrics, 'registry'>,
  files: CertificateFiles | undefined,
  servers: Readonly<Record<string, ServerCertificate>> = {},
): void {
  const readMs = new Map(Object.keys(servers).map((name) => [name, performance.now()]));
  new Gauge({
    name: 'gatehouse_tls_certificate_expiry_timestamp_seconds',
    help: 'When the TLS certificate in use expires, in seconds since 1970. certificate="own" is the process\'s, "authority" the first authority to expire, "database" that of PostgreSQL, "broker" that of NATS.',
    labelNames: ['certificate'],
    registers: [registry],
    collect() {
      for (const [name, { expiryMs, readAgain }] of Object.entries(servers)) {
        const expiry = expiryMs();
        if (expiry === undefined) continue;
        this.set({ certificate: name }, expiry / 1000);
        if (performance.now() - (readMs.get(name) ?? 0) < readAgainMs) continue;
        readMs.set(name, performance.now());
        void readAgain();
      }
      if (files === undefined) return;
      const { ca, own } = files.current().expiry;
      this.set({ certificate: 'authority' }, ca / 1000);
      if (own !== undefined) this.set({ certificate: 'own' }, own / 1000);
    },
  });
}
