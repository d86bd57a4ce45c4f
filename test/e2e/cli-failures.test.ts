import { describe, expect, test } from '@jest/globals';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { newRandomId } from '../../src/contract/public-id.ts';
import { ApiKeyService } from '../../src/gen/gatehouse/v1/api_key_service_pb.js';
import { MerchantService } from '../../src/gen/gatehouse/v1/merchant_service_pb.js';
import { Environment } from '../../src/gen/gatehouse/v1/order_pb.js';
import { deadAddress, openCommandLine } from './cli-harness.ts';
import type { Outcome } from './cli-harness.ts';
import { shared, sharedStack } from '../support/shared-stack.ts';

const stack = sharedStack({ facades: 0 });
const cli = shared(
  () => openCommandLine(settingsWith(stack.tokens.operator)),
  ({ stop }) => stop(),
);

const settingsWith = (token: string, addresses = stack.addresses.join(',')) => ({
  GATEHOUSE_CORE_ADDRESSES: addresses,
  GATEHOUSE_SERVICE_TOKEN: token,
});

/** Runs one command with settings of its own. */
async function runWith(
  settings: Readonly<Record<string, string>>,
  ...args: readonly string[]
): Promise<Outcome> {
  const own = await openCommandLine(settings);
  try {
    return await own.run(...args);
  } finally {
    await own.stop();
  }
}

const newMerchant = async (): Promise<string> => {
  const { merchant } = await stack.client(MerchantService, 'operator').createMerchant({ name: 'Shop' });
  return merchant!.merchantId;
};

describe('exit code 2, for invalid input', () => {
  test('every issue that core finds has its own line', async () => {
    const { exitCode, stderr } = await cli.run(
      ...['merchant', 'create', '--name', '', '--session-lifetime', '1m'],
    );

    expect(exitCode).toBe(2);
    expect(stderr).toMatch(/^ {2}name: is required$/m);
    expect(stderr).toMatch(/^ {2}session_lifetime: must be /m);
  });

  test('with --json, the issues are JSON on stderr', async () => {
    const { exitCode, stdout, stderr } = await cli.run('merchant', 'create', '--name', '', '--json');

    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(JSON.parse(stderr)).toEqual({
      error: {
        exit_code: 2,
        reason: 'INVALID_FIELDS',
        message: expect.any(String),
        issues: [{ field: 'name', issue: 'is required' }],
        advice: '',
        request_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      },
    });
  });

  test('a command without the address of a core says what to start or to set', async () => {
    const { exitCode, stderr } = await runWith({}, 'merchant', 'list');

    expect(exitCode).toBe(2);
    expect(stderr).toContain('no core is known');
    expect(stderr).toContain('npm start');
    expect(stderr).toContain('GATEHOUSE_SERVICE_TOKEN');
  });

  test('a command with the address of a core and without a token does not try the token of another core', async () => {
    const own = await openCommandLine({ GATEHOUSE_CORE_ADDRESSES: stack.addresses.join(',') });
    const demo = {
      grpc: 'elsewhere:1',
      rest: { production: '', sandbox: '' },
      tokens: { operator: 'a'.repeat(32) },
    };
    await writeFile(join(own.dataFolder, 'demo.json'), JSON.stringify(demo));

    const { exitCode, stderr } = await own.run('merchant', 'list');

    await own.stop();
    expect(exitCode).toBe(2);
    expect(stderr).toContain('no service token is known');
  });

  test('an invalid demo.json is named', async () => {
    const own = await openCommandLine({});
    await writeFile(join(own.dataFolder, 'demo.json'), '{"grpc":');

    const { exitCode, stderr } = await own.run('merchant', 'list');

    await own.stop();
    expect(exitCode).toBe(2);
    expect(stderr).toContain(join(own.dataFolder, 'demo.json'));
  });

  test('an unusable setting is named', async () => {
    const { exitCode, stderr } = await runWith(settingsWith('any', 'nowhere'), 'merchant', 'list');

    expect(exitCode).toBe(2);
    expect(stderr).toContain('GATEHOUSE_CORE_ADDRESSES must be host:port');
  });
});

describe('exit code 3, for unknown objects', () => {
  const unknown = (kind: 'mer' | 'key') => newRandomId(kind, new Date());

  test.each<[what: string, args: (merchant: string) => string[], advice: RegExp]>([
    ['merchant', () => ['merchant', 'show', unknown('mer')], /merchant list$/m],
    ['key', (merchant) => ['key', 'revoke', merchant, unknown('key')], /key list <merchant_id>$/m],
    ['order', (merchant) => ['order', 'show', merchant, 'inv-404'], /--environment/],
  ])('an unknown %s is reported, and the advice says where to look', async (_what, args, advice) => {
    expect(await cli.run(...args(await newMerchant()))).toMatchObject({
      exitCode: 3,
      stderr: expect.stringMatching(advice),
    });
  });
});

describe('exit code 4, for refused commands', () => {
  test('core refuses a token that it does not know', async () => {
    const { exitCode, stderr } = await runWith(settingsWith('f'.repeat(32)), 'merchant', 'list');

    expect(exitCode).toBe(4);
    expect(stderr).toContain('does not know this service token');
    expect(stderr).toContain('GATEHOUSE_SERVICE_TOKEN');
  });

  test('core refuses a token whose role does not allow the command', async () => {
    const create = ['merchant', 'create', '--name', 'Shop'];
    const { exitCode, stderr } = await runWith(settingsWith(stack.tokens.reader), ...create);

    expect(exitCode).toBe(4);
    expect(stderr).toContain('the token has the role reader');
  });

  test('core refuses to rotate a revoked key', async () => {
    const id = await newMerchant();
    const keys = stack.client(ApiKeyService, 'operator');
    const { apiKey } = await keys.issueApiKey({ merchantId: id, environment: Environment.SANDBOX });
    await keys.revokeApiKey({ merchantId: id, apiKeyId: apiKey!.apiKeyId });

    const { exitCode, stderr } = await cli.run('key', 'rotate', id, apiKey!.apiKeyId, '--json');

    expect(exitCode).toBe(4);
    expect(JSON.parse(stderr)).toMatchObject({ error: { exit_code: 4, reason: 'API_KEY_NOT_USABLE' } });
  });
});

describe('exit code 5, for a core that cannot be reached', () => {
  test('an address without a listener is reported', async () => {
    const address = await deadAddress();

    const { exitCode, stderr } = await runWith(settingsWith('any', address), 'merchant', 'list');

    expect(exitCode).toBe(5);
    expect(stderr).toContain(`no core answers at ${address} (nothing listens there)`);
    expect(stderr).toMatch(/doctor$/m);
  });

  test('a name without an address is reported, with the way to a pod that is not ready', async () => {
    const address = 'dns:///none.invalid:50051';

    const { exitCode, stderr } = await runWith(settingsWith('any', address), 'merchant', 'list');

    expect(exitCode).toBe(5);
    expect(stderr).toContain(`no core answers at ${address} (the name is unknown)`);
    expect(stderr).toContain('kubectl exec deploy/core -- gatehouse doctor --address localhost:50051');
    expect(stderr).not.toContain('npm start');
  });

  test('the command stops by itself when the server never answers', async () => {
    const sockets = new Set<Socket>();
    const mute = createServer((socket) => void sockets.add(socket));
    await new Promise<void>((listening) => mute.listen(0, '127.0.0.1', listening));
    const { port } = mute.address() as AddressInfo;

    const { exitCode, stderr } = await runWith(settingsWith('any', `127.0.0.1:${port}`), 'merchant', 'list');

    sockets.forEach((socket) => socket.destroy());
    await new Promise((closed) => mute.close(closed));
    expect(exitCode).toBe(5);
    expect(stderr).toContain('no answer came in time');
  });

  test('the command prints the stack trace only with --verbose', async () => {
    const settings = settingsWith('any', await deadAddress());

    const short = await runWith(settings, 'merchant', 'list');
    const long = await runWith(settings, 'merchant', 'list', '--verbose');

    expect(short.stderr).not.toMatch(/^ +at /m);
    expect(long.stderr).toMatch(/^ +at /m);
  });
});
