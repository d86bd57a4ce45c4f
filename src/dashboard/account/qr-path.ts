import { create } from 'qrcode';

/** A QR code for SVG: the side of the square, and the path of its dark modules. */
export interface QrCode {
  readonly size: number;
  readonly path: string;
}

/** ISO/IEC 18004, 5.3.8: four modules of quiet zone. */
const border = 4;

export function qrCode(text: string): QrCode {
  const { size, data } = create(text, { errorCorrectionLevel: 'M' }).modules;
  const path = Array.from(data, (isDark, index) => {
    const x = border + (index % size);
    const y = border + Math.floor(index / size);
    return isDark ? `M${x} ${y}h1v1h-1z` : '';
  }).join('');
  return { size: size + 2 * border, path };
}
