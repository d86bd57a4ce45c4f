import type { ClientHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import { Http2SubchannelConnector } from '@grpc/grpc-js/build/src/transport.js';
import { pingWhileClosing } from './closing-pings.ts';

/**
 * An option of a channel: the time in milliseconds within which a server must accept a connection, complete the handshake of TLS and
 * begin HTTP/2. A later attempt follows the one that failed, after the usual backoff.
 */
export const connectWithin = 'gatehouse.connect_within_ms';

const connect = Reflect.get<Http2SubchannelConnector, 'connect'>(
  Http2SubchannelConnector.prototype,
  'connect',
);

/**
 * grpc-js waits for a connection without a limit (grpc/grpc-node#2785). The network or the server's machine can be lost after the server
 * has accepted the connection. Then neither an answer nor an error arrives, and all calls to the server would fail until the process is
 * restarted. Pings detect this only once HTTP/2 has begun.
 */
Http2SubchannelConnector.prototype.connect = async function (address, secureConnector, options) {
  const withinMs: unknown = options[connectWithin];
  if (typeof withinMs !== 'number') return connect.call(this, address, secureConnector, options);
  let socket: Socket | undefined;
  let isLate = false;
  const connecting = connect.call(
    this,
    address,
    {
      waitForReady: () => secureConnector.waitForReady(),
      getCallCredentials: () => secureConnector.getCallCredentials(),
      destroy: () => secureConnector.destroy(),
      connect: async (accepted) => {
        socket = accepted;
        if (isLate) throw new Error('the server accepted the connection too late');
        return secureConnector.connect(accepted);
      },
    },
    options,
  );
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    isLate = true;
    // Nothing else would close it. A connection that is not accepted yet has none, and the system gives it up.
    socket?.destroy();
    late.reject(new Error(`the server has not begun HTTP/2 within ${withinMs} ms`));
  }, withinMs).unref();
  try {
    const transport = await Promise.race([connecting, late.promise]);
    pingWhileClosing(Reflect.get(transport, 'session') as ClientHttp2Session);
    return transport;
  } finally {
    clearTimeout(timer);
  }
};
