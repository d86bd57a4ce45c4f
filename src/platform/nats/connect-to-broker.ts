import type { ConnectionOptions, NatsConnection } from 'nats';
import { NatsConnectionImpl, setTransportFactory } from 'nats/lib/src/nats-base-client.js';
import { NodeTransport, nodeResolveHost } from 'nats/lib/src/node_transport.js';

/**
 * The client's own transport leaves the socket open if an attempt to connect takes too long. While a broker accepts connections and says
 * nothing, each process would open one more every five seconds.
 */
class ClosingTransport extends NodeTransport {
  #isAbandoned = false;

  override async connect(
    address: Parameters<NodeTransport['connect']>[0],
    options: ConnectionOptions,
  ): Promise<void> {
    await super.connect(address, options);
    if (this.#isAbandoned) await super.close();
  }

  override close(error?: Error): Promise<void> {
    if (!this.connected) {
      this.#isAbandoned = true;
      // Undefined until TCP has connected.
      (this.socket as NodeTransport['socket'] | undefined)?.destroy();
    }
    return super.close(error);
  }
}

/** Like the client's `connect`, and closes the sockets of attempts that take too long. */
export function connectToBroker(options: ConnectionOptions): Promise<NatsConnection> {
  setTransportFactory({ factory: () => new ClosingTransport(), dnsResolveFn: nodeResolveHost });
  return NatsConnectionImpl.connect(options);
}
