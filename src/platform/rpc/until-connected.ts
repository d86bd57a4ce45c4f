import { connectivityState } from '@grpc/grpc-js';
import type { Client } from '@grpc/grpc-js';

const { READY, SHUTDOWN } = connectivityState;

type Channel = ReturnType<Client['getChannel']>;

/** Connects until `deadline`. False if there is no connection by then, or if the channel is closed. */
export async function untilConnected(channel: Channel, deadline: Date): Promise<boolean> {
  for (;;) {
    const connect = true;
    const state = channel.getConnectivityState(connect);
    if (state === READY) return true;
    if (state === SHUTDOWN || !(await changes(channel, state, deadline))) return false;
  }
}

/** False if the state is the same at the deadline. */
const changes = (channel: Channel, state: connectivityState, deadline: Date): Promise<boolean> =>
  new Promise((resolve) => {
    channel.watchConnectivityState(state, deadline, (error) => resolve(error === undefined));
  });
