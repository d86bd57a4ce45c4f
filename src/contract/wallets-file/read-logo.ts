import { readFileSync } from 'node:fs';

export interface Logo {
  readonly bytes: Uint8Array;
  readonly mediaType: 'image/svg+xml' | 'image/png';
}

const maxBytes = 32 * 1024;
const pngSignature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/**
 * Markup that could run code or load other files. Browsers execute none of it in an <img>, but a visitor may open the
 * file itself.
 */
const activeSvg =
  /<\s*(script|foreignObject|iframe|object|embed|use|image|a)\b|\son[a-z]+\s*=|javascript:|<!ENTITY|@import|url\(\s*['"]?(?!#)/i;

/** A comment ends at its first `-->`. If it could end at a later one too, matching would take exponential time. */
const startsWithSvg = /^\s*(?:<\?xml[^>]*\?>\s*)?(?:<!--(?:(?!-->)[^])*-->\s*)*<svg[\s>]/;

/** Reads a logo, or returns why the file is not a valid one. */
export function readLogo(path: string): Logo | { readonly problem: string } {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    const why = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable';
    return { problem: `the file ${path} cannot be read (${why})` };
  }
  if (bytes.length > maxBytes) return { problem: `must be at most ${maxBytes / 1024} KiB` };
  if (bytes.subarray(0, 8).equals(pngSignature)) return { bytes, mediaType: 'image/png' };
  const text = bytes.toString('utf8');
  if (!startsWithSvg.test(text)) return { problem: 'must be an SVG or PNG image' };
  if (activeSvg.test(text)) return { problem: 'must be an SVG without scripts, links or other files' };
  return { bytes, mediaType: 'image/svg+xml' };
}
