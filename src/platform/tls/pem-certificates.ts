import { X509Certificate } from 'node:crypto';

const beginLine = '-----BEGIN CERTIFICATE-----';
const endLine = '-----END CERTIFICATE-----';

const wholeBlock = new RegExp(
  `(?<![^\\n])${beginLine}[ \\t]*\\r?\\n(?:[^-\\r]|\\r\\n)+(?<=\\n)${endLine}(?=[ \\t\\r]*(?:\\n|$))`,
  'g',
);

/** The message about a file without usable certificates, after its path. */
export const mustContainCertificates = `must contain whole PEM certificates, from the line ${beginLine} to the line ${endLine}, with the line breaks of Unix or Windows`;

/**
 * The certificates in a PEM text; undefined when one of them is damaged or cut off, for example while a program writes the file. Each line
 * stands alone and ends with a line feed: otherwise OpenSSL reads no certificate there, and trusts nobody without an error.
 */
export function certificatesIn(pem: Buffer): readonly X509Certificate[] | undefined {
  const text = pem.toString('utf8').replace(/^\uFEFF/, '');
  const blocks = text.match(wholeBlock) ?? [];
  if (blocks.length !== text.split(beginLine).length - 1) return undefined;
  try {
    return blocks.map((block) => new X509Certificate(block));
  } catch {
    return undefined;
  }
}
