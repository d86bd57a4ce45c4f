import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { HttpUrl } from '../../../src/core/domain/http-url.ts';

const notAbsolute = 'must be an absolute URL that starts with https:// or http://';
const wrongCharacter = 'must contain only URL characters; percent-encode spaces, line breaks and all others';
const wrongHost = 'must have a valid host, such as https://shop.example/path';

function urlOfLength(length: number): string {
  return 'https://shop.example/'.padEnd(length, 'a');
}

describe('HttpUrl.parse', () => {
  test.each([
    'https://shop.example',
    'https://shop.example/',
    'https://shop.example/return?order=42&x[0]=%20a%2F#done',
    'HTTPS://Shop.Example/Path',
    'https://shop.example:8443/hook',
    'https://shop.example:443/',
    'https://shop.example/a/../b',
    'https://shop.example?next=https://user:pw@other.example/',
    'https://shop.example/@me',
    'https://shop.example./',
    'https://my_shop.example/',
    'https://xn--bcher-kva.example/',
    'https://localhost:3000/hook',
    'https://192.0.2.7/hook',
    'https://[2001:db8::7]:8443/hook',
    'https://[0:0:0:0:0:0:0:1]/',
    'https://shop.example/a%00b',
    urlOfLength(2048),
  ])('keeps %s exactly as given', (text) => {
    expect(HttpUrl.parse(text, 'return_url', 'PRODUCTION')).toEqual({ ok: true, value: text });
  });

  test.each([
    ['nothing', '', 'is required'],
    ['2049 characters', urlOfLength(2049), 'must be at most 2048 characters'],
    ['a script', 'javascript:alert(1)', notAbsolute],
    ['a script behind slashes', 'javascript://shop.example/%0aalert(1)', notAbsolute],
    ['data', 'data:text/html,x', notAbsolute],
    ['a file', 'file:///etc/passwd', notAbsolute],
    ['another scheme', 'ftp://shop.example/', notAbsolute],
    ['a scheme that starts like http', 'httpx://shop.example/', notAbsolute],
    ['no scheme', 'shop.example/return', notAbsolute],
    ['a path alone', '/return', notAbsolute],
    ['no scheme but slashes', '//shop.example/', notAbsolute],
    ['no slashes', 'https:shop.example', notAbsolute],
    ['one slash', 'https:/shop.example', notAbsolute],
    ['backslashes for slashes', 'https:\\\\shop.example', notAbsolute],
    ['a leading blank', ' https://shop.example/', notAbsolute],
    ['a line break in the scheme', 'ht\ntps://shop.example/', notAbsolute],
    ['a NUL in front', '\0https://shop.example/', notAbsolute],
    ['a trailing blank', 'https://shop.example/ ', wrongCharacter],
    ['a trailing line break', 'https://shop.example/\n', wrongCharacter],
    ['a line break inside', 'https://shop.example/a\r\nX: y', wrongCharacter],
    ['a tab in the host', 'https://shop\t.example/', wrongCharacter],
    ['a blank in the host', 'https://shop .example/', wrongCharacter],
    ['a blank in the path', 'https://shop.example/a b', wrongCharacter],
    ['a NUL', 'https://shop.example/\0', wrongCharacter],
    ['a DEL', 'https://shop.example/\x7f', wrongCharacter],
    ['a lone surrogate', 'https://shop.example/\ud800', wrongCharacter],
    ['a backslash that ends the host', 'https://shop.example\\@other.example/', wrongCharacter],
    ['a backslash in the path', 'https://shop.example/a\\b', wrongCharacter],
    ['angle brackets', 'https://shop.example/<script>', wrongCharacter],
    ['a quote', 'https://shop.example/"', wrongCharacter],
    ['letters outside ASCII in the path', 'https://shop.example/ክፍያ', wrongCharacter],
    ['letters outside ASCII in the host', 'https://bücher.example/', wrongCharacter],
    ['full-width digits in the host', 'https://１２７.0.0.1/', wrongCharacter],
    ['a soft hyphen in the host', 'https://sh\u00adop.example/', wrongCharacter],
    ['a percent sign with no digits', 'https://shop.example/100%', wrongCharacter],
    ['a percent sign with wrong digits', 'https://shop.example/%zz', wrongCharacter],
    ['a user name', 'https://user@shop.example/', 'must not contain a user name or password'],
    ['a user name and password', 'https://user:pw@shop.example/', 'must not contain a user name or password'],
    ['an empty user name', 'https://@shop.example/', 'must not contain a user name or password'],
    ['an at sign for the whole host', 'https://@/', 'must not contain a user name or password'],
    ['no host', 'https://', wrongHost],
    ['no host but a path', 'https:///shop.example', wrongHost],
    ['no host but a query', 'https://?a=b', wrongHost],
    ['no host but a port', 'https://:443/', wrongHost],
    ['a port that is not a number', 'https://shop.example:http/', wrongHost],
    ['a port out of range', 'https://shop.example:65536/', wrongHost],
    ['an empty port', 'https://shop.example:/', wrongHost],
    ['an empty label', 'https://shop..example/', wrongHost],
    ['a leading dot', 'https://.example/', wrongHost],
    ['a leading hyphen', 'https://-shop.example/', wrongHost],
    ['percent-encoded letters in the host', 'https://sh%6fp.example/', wrongHost],
    ['an address in hexadecimal', 'https://0x7f.0.0.1/', wrongHost],
    ['an address in octal', 'https://0177.0.0.1/', wrongHost],
    ['an address as one number', 'https://2130706433/', wrongHost],
    ['a shortened address', 'https://127.1/', wrongHost],
    ['an address out of range', 'https://256.0.0.1/', wrongHost],
    ['a broken IPv6 address', 'https://[::1/', wrongHost],
    ['an IPv6 address with too many groups', 'https://[1:2:3:4:5:6:7:8:9]/', wrongHost],
    ['an IPv6 zone', 'https://[fe80::1%25eth0]/', wrongHost],
  ])('refuses %s', (_, text, issue) => {
    expect(HttpUrl.parse(text, 'return_url', 'PRODUCTION')).toEqual({
      ok: false,
      error: { field: 'return_url', issue },
    });
  });

  test('accepts http in the sandbox', () => {
    const text = 'http://127.0.0.1:3000/hook';

    expect(HttpUrl.parse(text, 'webhook_url', 'SANDBOX')).toEqual({ ok: true, value: text });
  });

  test.each(['http://shop.example/', 'HTTP://shop.example/'])('requires https in production: %s', (text) => {
    expect(HttpUrl.parse(text, 'webhook_url', 'PRODUCTION')).toEqual({
      ok: false,
      error: { field: 'webhook_url', issue: 'must start with https:// in production' },
    });
  });

  test('returns only texts whose host and scheme the WHATWG parser finds at the same position', () => {
    const pieces = fc.constantFrom(...'s:/\\@a.?#%0-\t', '0x7f', '://', '.a');
    const nearlyUrls = fc.array(pieces, { maxLength: 12 }).map((tail) => `https://${tail.join('')}`);
    fc.assert(
      fc.property(nearlyUrls, (text) => {
        if (!HttpUrl.parse(text, 'url', 'SANDBOX').ok) return;

        const { protocol, hostname, username, password } = new URL(text);
        expect([protocol, username, password]).toEqual(['https:', '', '']);
        expect(text.startsWith(`https://${hostname}`)).toBe(true);
      }),
      { numRuns: 5_000 },
    );
  });
});
