import { gsma } from './gsma/gsma.ts';
import { mtnMomo } from './mtn-momo/mtn-momo.ts';
import type { SimulatedProtocol } from './simulated-wallet.ts';

/** The protocols that simulated wallets speak. A new protocol is a folder and a line here. */
export const protocols = {
  gsma,
  'mtn-momo': mtnMomo,
} as const satisfies Readonly<Record<string, SimulatedProtocol>>;

export type ProtocolName = keyof typeof protocols;

export const isProtocol = (name: string): name is ProtocolName => Object.hasOwn(protocols, name);
