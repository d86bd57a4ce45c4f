import { describe, expect, test } from '@jest/globals';
import { guardAddresses, isPublicAddress } from '../../../src/webhooks/sending/public-address.ts';

test.each([
  ...['8.8.8.8', '1.1.1.1', '9.255.255.255', '11.0.0.0', '100.63.255.255', '100.128.0.0', '126.255.255.255'],
  ...['128.0.0.0', '169.253.255.255', '169.255.0.0', '172.15.255.255', '172.32.0.0', '192.0.1.0'],
  ...['192.167.255.255', '192.169.0.0', '198.17.255.255', '198.20.0.0', '196.188.120.4', '223.255.255.255'],
  ...['2606:4700:4700::1111', '2001:4860:4860::8888', '2A00:1450:4001:0829:0000:0000:0000:200E'],
  ...['2003::1', '3ffe::1'],
])('%s is public', (address) => {
  expect(isPublicAddress(address)).toBe(true);
});

/** Networks that are not public, with addresses of each: the first, the last, and other forms. */
const notPublic: Readonly<Record<string, string>> = {
  'this network': '0.0.0.0 0.1.2.3',
  loopback: '127.0.0.1 127.255.255.255 ::1 0000:0000:0000:0000:0000:0000:0000:0001 ::1%lo',
  private: '10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1',
  'shared (CGNAT), with the metadata of Alibaba': '100.64.0.1 100.100.100.200 100.127.255.255',
  'link-local, with the metadata of clouds': '169.254.169.254 fe80::1 fe80::1%eth0 febf::1',
  'IETF protocols, with the metadata of Oracle': '192.0.0.1 192.0.0.192',
  documentation: '192.0.2.1 198.51.100.1 203.0.113.1 2001:db8::1 3fff::1',
  benchmarking: '198.18.0.1 198.19.255.255 2001:2::1',
  'multicast, reserved and broadcast': '224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255 ff02::1 ff0e::1',
  'the WireServer of Azure': '168.63.129.16',
  unspecified: ':: 0:0:0:0:0:0:0:0',
  'an IPv4 address mapped': '::ffff:127.0.0.1 ::ffff:7f00:1 0:0:0:0:0:FFFF:7F00:0001 ::ffff:8.8.8.8',
  'an IPv4 address made compatible or translated (RFC 6145)': '::127.0.0.1 ::8.8.8.8 ::ffff:0:10.0.0.1',
  NAT64: '64:ff9b::10.0.0.1 64:ff9b::808:808 64:ff9b:1::a00:1 64:ff9b:1:ffff:ffff:ffff:ffff:ffff',
  '6to4 and its relay': '192.88.99.1 2002:7f00:1:: 2002:808:808::1',
  Teredo: '2001::1 2001:0:a00:1::f5ff:fffe',
  'AMT, AS112, ORCHID and segment routing': '2001:3::1 2001:4:112::1 2001:10::1 2001:20::1 5f00::1',
  discard: '100::1',
  'unique local, with the metadata of AWS': 'fc00::1 fd00:ec2::254',
  'site-local': 'fec0::1',
  'not assigned': '4000::1 e000::1 200::1',
};
test.each(Object.entries(notPublic))('%s is not public: %s', (_what, addresses) => {
  expect(addresses.split(' ').filter(isPublicAddress)).toEqual([]);
});

test.each([
  ...['', '\0', ' 8.8.8.8', '8.8.8.8 '],
  ...'shop.example localhost 8.8.8 8.8.8.8. 8.8.8.8/32 134744072 0x08.8.8.8 010.8.8.8 08.8.8.8 8.8.8.８'.split(
    ' ',
  ),
  ...['[2606:4700:4700::1111]', '2606:4700:4700:::1111', '2606:4700:4700::1111::'],
])('%j is not an address in its usual form, so it is not public', (text) => {
  expect(isPublicAddress(text)).toBe(false);
});

describe('additionally allowed networks', () => {
  const isAllowed = guardAddresses(['127.0.0.0/8', '::1', '10.1.2.3', 'fd00:1::/32']);

  test('can be connected to, and no other network, nor an IPv4 network in an IPv6 address', () => {
    const allowed = '127.0.0.1 127.9.9.9 ::1 0:0:0:0:0:0:0:1 10.1.2.3 fd00:1:2::3 8.8.8.8'.split(' ');
    const others = ['10.1.2.4', '128.0.0.1.', '169.254.169.254', '::2', 'fd00:2::1', '0.0.0.0', '::', ''];
    const embedded = ['::ffff:127.0.0.1', '::127.0.0.1', '64:ff9b::127.0.0.1', '2002:7f00:1::'];
    expect(allowed.filter((address) => !isAllowed(address))).toEqual([]);
    expect([...others, ...embedded].filter(isAllowed)).toEqual([]);
  });

  test('are refused when they cannot be parsed', () => {
    expect(() => guardAddresses(['127.0.0.0/33'])).toThrow();
    expect(() => guardAddresses(['localhost'])).toThrow();
  });
});
