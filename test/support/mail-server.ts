import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';
import type { SMTPServerOptions } from 'smtp-server';

export interface ReceivedMail {
  readonly to: string;
  readonly text: string;
  readonly user: unknown;
  readonly isSecure: boolean;
}

/** A mail server that keeps every mail. */
export interface MailServer {
  readonly port: number;
  readonly mails: readonly ReceivedMail[];
  readonly close: () => Promise<void>;
}

export async function startMailServer(options: SMTPServerOptions): Promise<MailServer> {
  const mails: ReceivedMail[] = [];
  const server = new SMTPServer({
    onData: (stream, session, done) => {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        mails.push({
          to: session.envelope.rcptTo.map(({ address }) => address).join(),
          text: Buffer.concat(chunks).toString(),
          user: session.user,
          isSecure: session.secure,
        });
        done();
      });
    },
    ...options,
  });
  // A client that does not trust the certificate disconnects, which is an error of the server's socket.
  server.on('error', () => undefined);
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.server.address() as AddressInfo;
  return { port, mails, close: () => new Promise((closed) => server.close(() => closed())) };
}
