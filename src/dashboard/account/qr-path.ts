import { encode } from 'uqr';

/** A QR code as a page draws it: the side of the square, and the path of its dark modules. */
export interface QrCode {
  readonly size: number;
  readonly path: string;
}

/** ISO/IEC 18004, 5.3.8: four modules of quiet zone. */
const border = 4;

export function qrCode(text: string): QrCode {
  const { data, size } = encode(text, { border, ecc: 'M' });
  const path = data
    .flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : '')))
    .join('');
  return { size, path };
}
