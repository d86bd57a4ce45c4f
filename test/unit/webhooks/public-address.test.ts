import { describe, expect, test } from '@jest/globals';
import { guardAddresses, isPublicAddress } from '../../../src/webhooks/sending/public-address.ts';

describe('public', () => {
  test.each([
    '8.8.8.8',
    '1.1.1.1',
    '9.255.255.255',
    '11.0.0.0',
    '100.63.255.255',
    '100.128.0.0',
    '126.255.255.255',
    '128.0.0.0',
    '169.253.255.255',
    '169.255.0.0',
    '172.15.255.255',
    '172.32.0.0',
    '192.0.1.0',
    '192.167.255.255',
    '192.169.0.0',
    '198.17.255.255',
    '198.20.0.0',
    '196.188.120.4',
    '223.255.255.255',
    '2606:4700:4700::1111',
    '2001:4860:4860::8888',
    '2A00:1450:4001:0829:0000:0000:0000:200E',
    '2003::1',
    '3ffe::1',
  ])('%s', (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });
});

describe('not public', () => {
  test.each([
    ['this host', '0.0.0.0'],
    ['this network', '0.1.2.3'],
    ['loopback', '127.0.0.1'],
    ['loopback, its end', '127.255.255.255'],
    ['private', '10.0.0.1'],
    ['private', '172.16.0.1'],
    ['private', '172.31.255.255'],
    ['private', '192.168.1.1'],
    ['shared (CGNAT)', '100.64.0.1'],
    ["shared, Alibaba's metadata", '100.100.100.200'],
    ['shared, its end', '100.127.255.255'],
    ['link-local, cloud metadata', '169.254.169.254'],
    ['IETF protocols', '192.0.0.1'],
    ["IETF protocols, Oracle's metadata", '192.0.0.192'],
    ['documentation', '192.0.2.1'],
    ['documentation', '198.51.100.1'],
    ['documentation', '203.0.113.1'],
    ['6to4 relay', '192.88.99.1'],
    ['benchmarking', '198.18.0.1'],
    ['benchmarking', '198.19.255.255'],
    ['multicast', '224.0.0.1'],
    ['multicast', '239.255.255.255'],
    ['reserved', '240.0.0.1'],
    ['broadcast', '255.255.255.255'],
    ["Azure's WireServer", '168.63.129.16'],
    ['unspecified', '::'],
    ['unspecified, written out', '0:0:0:0:0:0:0:0'],
    ['loopback', '::1'],
    ['loopback, written out', '0000:0000:0000:0000:0000:0000:0000:0001'],
    ['loopback with a zone', '::1%lo'],
    ['mapped loopback', '::ffff:127.0.0.1'],
    ['mapped loopback in hexadecimal', '::ffff:7f00:1'],
    ['mapped loopback, written out', '0:0:0:0:0:FFFF:7F00:0001'],
    ['mapped public', '::ffff:8.8.8.8'],
    ['compatible loopback', '::127.0.0.1'],
    ['compatible public', '::8.8.8.8'],
    ['translated (RFC 6145)', '::ffff:0:10.0.0.1'],
    ['NAT64', '64:ff9b::10.0.0.1'],
    ['NAT64 of a public one', '64:ff9b::808:808'],
    ['local NAT64', '64:ff9b:1::a00:1'],
    ['local NAT64, its end', '64:ff9b:1:ffff:ffff:ffff:ffff:ffff'],
    ['6to4 of 127.0.0.1', '2002:7f00:1::'],
    ['6to4 of a public one', '2002:808:808::1'],
    ['Teredo', '2001::1'],
    ['Teredo with 10.0.0.1', '2001:0:a00:1::f5ff:fffe'],
    ['benchmarking', '2001:2::1'],
    ['AMT', '2001:3::1'],
    ['AS112', '2001:4:112::1'],
    ['ORCHID', '2001:10::1'],
    ['ORCHIDv2', '2001:20::1'],
    ['documentation', '2001:db8::1'],
    ['documentation (RFC 9637)', '3fff::1'],
    ['segment routing', '5f00::1'],
    ['discard', '100::1'],
    ['unique local', 'fc00::1'],
    ["unique local, AWS's metadata", 'fd00:ec2::254'],
    ['link-local', 'fe80::1'],
    ['link-local with a zone', 'fe80::1%eth0'],
    ['link-local, its end', 'febf::1'],
    ['site-local', 'fec0::1'],
    ['multicast', 'ff02::1'],
    ['multicast', 'ff0e::1'],
    ['not assigned', '4000::1'],
    ['not assigned', 'e000::1'],
    ['not assigned', '200::1'],
  ])('%s: %s', (_what, address) => {
    expect(isPublicAddress(address)).toBe(false);
  });
});

test.each([
  '',
  'shop.example',
  'localhost',
  '8.8.8',
  '8.8.8.8.',
  ' 8.8.8.8',
  '8.8.8.8 ',
  '8.8.8.8/32',
  '134744072',
  '0x08.8.8.8',
  '010.8.8.8',
  '08.8.8.8',
  '8.8.8.８',
  '[2606:4700:4700::1111]',
  '2606:4700:4700:::1111',
  '2606:4700:4700::1111::',
  '\0',
])('%j is not an address in its usual spelling, so not public', (text) => {
  expect(isPublicAddress(text)).toBe(false);
});

describe('networks that are allowed besides', () => {
  const isAllowed = guardAddresses(['127.0.0.0/8', '::1', '10.1.2.3', 'fd00:1::/32']);

  test.each(['127.0.0.1', '127.9.9.9', '::1', '0:0:0:0:0:0:0:1', '10.1.2.3', 'fd00:1:2::3', '8.8.8.8'])(
    '%s may be connected to',
    (address) => {
      expect(isAllowed(address)).toBe(true);
    },
  );

  test.each(['10.1.2.4', '128.0.0.1.', '169.254.169.254', '::2', 'fd00:2::1', '0.0.0.0', '::', ''])(
    '%j may not',
    (address) => {
      expect(isAllowed(address)).toBe(false);
    },
  );

  test.each(['::ffff:127.0.0.1', '::127.0.0.1', '64:ff9b::127.0.0.1', '2002:7f00:1::'])(
    'an IPv4 network does not extend to %s',
    (address) => {
      expect(isAllowed(address)).toBe(false);
    },
  );

  test('a network that cannot be read is an error, not nothing', () => {
    expect(() => guardAddresses(['127.0.0.0/33'])).toThrow();
    expect(() => guardAddresses(['localhost'])).toThrow();
  });
});
