import { gsma } from './gsma/gsma.ts';
import { mpesaDaraja } from './mpesa-daraja/mpesa-daraja.ts';
import { mpesaEthiopia } from './mpesa-ethiopia/mpesa-ethiopia.ts';
import { mtnMomo } from './mtn-momo/mtn-momo.ts';
import { telebirr } from './telebirr/telebirr.ts';
import type { SimulatedProtocol } from './simulated-wallet.ts';

/** The protocols that simulated wallets speak. A new protocol is a folder and a line here. */
export const protocols = {
  gsma,
  'mpesa-daraja': mpesaDaraja,
  'mpesa-ethiopia': mpesaEthiopia,
  'mtn-momo': mtnMomo,
  telebirr,
} as const satisfies Readonly<Record<string, SimulatedProtocol>>;

export type ProtocolName = keyof typeof protocols;

export const isProtocol = (name: string): name is ProtocolName => Object.hasOwn(protocols, name);
