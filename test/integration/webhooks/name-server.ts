import { createSocket } from 'node:dgram';
import { Resolver } from 'node:dns/promises';
import { once } from 'node:events';

const types = { A: 1, CNAME: 5, AAAA: 28 } as const;
const codes = { NOERROR: 0, SERVFAIL: 2, NXDOMAIN: 3 };

export interface DnsRecord {
  readonly type: keyof typeof types;
  readonly data: readonly number[];
  /** The name that the record is about, in its form on the wire; by default the name in the question. */
  readonly owner?: readonly number[];
}

export interface DnsQuestion {
  readonly name: string;
  readonly type: 'A' | 'AAAA';
  /** A message with the question, these records, and this code (RFC 1035, 4.1). */
  readonly reply: (records: readonly DnsRecord[], code?: keyof typeof codes) => Buffer;
}

function readQuestion(message: Buffer): DnsQuestion {
  const labels: string[] = [];
  let at = 12;
  for (let length = message[at]!; length > 0; length = message[at]!) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return {
    name: labels.join('.').toLowerCase(),
    type: message.readUInt16BE(at + 1) === types.A ? 'A' : 'AAAA',
    reply(records, code = 'NOERROR') {
      const head = Buffer.from(message.subarray(0, at + 5));
      head.writeUInt16BE(0x8180 | codes[code], 2);
      head.writeUInt16BE(records.length, 6);
      head.writeUInt16BE(0, 10);
      const bytes = records.flatMap(({ type, data, owner = [0xc0, 12] }) => [
        ...owner,
        ...[0, types[type], 0, 1, 0, 0, 0, 0, 0, data.length],
        ...data,
      ]);
      return Buffer.concat([head, Buffer.from(bytes)]);
    },
  };
}

/** A resolver that asks a real name server of its own, which sends what `answer` returns, if anything. */
export async function startNameServer(
  answer: (question: DnsQuestion) => Buffer | undefined,
  timeoutMs: number,
  tries = 1,
): Promise<{ readonly resolver: Resolver; readonly close: () => Promise<void> }> {
  const socket = createSocket('udp4', (message, peer) => {
    const sent = answer(readQuestion(message));
    if (sent !== undefined) socket.send(sent, peer.port, peer.address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  const resolver = new Resolver({ timeout: timeoutMs, maxTimeout: timeoutMs, tries });
  resolver.setServers([`127.0.0.1:${socket.address().port}`]);
  const close = async (): Promise<void> => {
    resolver.cancel();
    socket.close();
    await once(socket, 'close');
  };
  return { resolver, close };
}
