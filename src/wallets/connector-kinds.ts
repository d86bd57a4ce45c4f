import type { ConnectorKind } from './connector/connector-kind.ts';
import { gsma } from './gsma/gsma-kind.ts';
import { mpesaDaraja } from './mpesa-daraja/mpesa-daraja.ts';
import { mpesaEthiopia } from './mpesa-ethiopia/mpesa-ethiopia.ts';
import { mtnMomo } from './mtn-momo/mtn-momo.ts';
import { telebirr } from './telebirr/telebirr.ts';

/** Every protocol that a wallet of the configuration can name as its connector. */
export const connectorKinds: readonly ConnectorKind[] = [gsma, mpesaDaraja, mpesaEthiopia, mtnMomo, telebirr];
