// What the programs of the client libraries share: access, callbacks, and the report of each flow.
const { createServer } = require('node:http');
const { once } = require('node:events');
const { json } = require('node:stream/consumers');
const { setTimeout: pause } = require('node:timers/promises');

/** The base URL and credentials of a simulated wallet. */
exports.access = JSON.parse(process.env.SIMULATOR_ACCESS);

/** Reports what the library returned for a flow. */
exports.report = (flow, value) => console.log(`FLOW ${JSON.stringify([flow, value])}`);

/** Asks until the answer is final, as a client does that polls. */
exports.until = async (ask, isDone) => {
  for (let tries = 0; tries < 2_000; tries += 1) {
    const answer = await ask();
    if (isDone(answer)) return answer;
    await pause(50);
  }
  throw new Error('no answer was final');
};

/** A listener for the messages that a wallet posts. */
exports.listen = async () => {
  const received = [];
  let wake = () => undefined;
  const server = createServer(async (request, response) => {
    received.push({ path: request.url, body: await json(request) });
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ ResultCode: 0, ResultDesc: 'Accepted' }));
    wake();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  return {
    url: (name) => `http://127.0.0.1:${port}/${name}`,
    /** The next message at the URL of this name. */
    next: async (name) => {
      for (;;) {
        const index = received.findIndex(({ path }) => path === `/${name}`);
        if (index >= 0) return received.splice(index, 1)[0].body;
        await new Promise((resolve) => {
          wake = resolve;
        });
      }
    },
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
};
