import { EventEmitter } from 'node:events';
import { expect, test } from '@jest/globals';
import { createLogger } from '../../../src/platform/logger.ts';
import { limitStrangers } from '../../../src/platform/rpc/limit-strangers.ts';

// Over a connection, the order of reads decides whether a call meets a session that has ended.
test('a call whose session has failed does not end the process', () => {
  const logger = createLogger({ process: 'test', instance: 'test', level: 'silent' });
  const [server, stream] = [new EventEmitter(), new EventEmitter()];
  const session = Object.assign(new EventEmitter(), { destroyed: true });
  limitStrangers(server, {
    isKnownCaller: () => false,
    maxConcurrentStreams: 1,
    logger,
    listener: 'test',
  });
  server.emit('session', session);
  session.emit('stream', stream, {});

  expect(() => stream.emit('error', new Error('too many invalid frames'))).not.toThrow();
});
