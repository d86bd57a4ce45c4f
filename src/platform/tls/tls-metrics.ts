import { Gauge } from 'prom-client';
import type { Metrics } from '../metrics.ts';
import type { CertificateFiles } from './certificate-files.ts';

/** Shows when the certificates in use expire, so that an alert can precede it. Without TLS there is no value. */
export function addTlsMetrics(
  { registry }: Pick<Metrics, 'registry'>,
  files: CertificateFiles | undefined,
): void {
  new Gauge({
    name: 'gatehouse_tls_certificate_expiry_timestamp_seconds',
    help: 'When the TLS certificate in use expires, in seconds since 1970. certificate="own" is the process\'s, "authority" the first authority to expire.',
    labelNames: ['certificate'],
    registers: [registry],
    collect() {
      if (files === undefined) return;
      const { ca, own } = files.current().expiry;
      this.set({ certificate: 'authority' }, ca / 1000);
      if (own !== undefined) this.set({ certificate: 'own' }, own / 1000);
    },
  });
}
