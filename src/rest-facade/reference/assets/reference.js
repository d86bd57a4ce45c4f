// Sends the reader's requests to this sandbox and shows the responses. The key stays in its fields: it is neither stored nor
// put in a URL.
const forms = [...document.querySelectorAll('.try form')];
const keys = forms.map((form) => form.querySelector('[data-in=key]'));

/** Each visit has numbers of its own, and all endpoints use the same ones. */
const number = `TRY-${Date.now().toString(36).toUpperCase()}`;
const withOwnNumbers = (example) => {
  const body = JSON.parse(example);
  if ('order_number' in body) body.order_number = number;
  if ('refund_number' in body) body.refund_number = `${number}-R`;
  return JSON.stringify(body, null, 2);
};

const formatted = (text) => {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
};

/** The reason for which a key is not sent; undefined for a test key. */
const problemOf = (apiKey) => {
  if (apiKey.startsWith('svc_live_'))
    return 'This is a live key: never enter it in a browser. Use a test key.';
  if (!/^svc_test_[!-~]+$/.test(apiKey)) return 'Enter your test key, which starts with svc_test_.';
  return undefined;
};

async function send(form, show) {
  const apiKey = form.querySelector('[data-in=key]').value.trim();
  const problem = problemOf(apiKey);
  if (problem !== undefined) {
    show(`Nothing was sent. ${problem}`);
    return;
  }
  show('Waiting for the response…');
  const given = (place) =>
    [...form.querySelectorAll(`[data-in=${place}]`)]
      .filter(({ value }) => value !== '')
      .map(({ dataset, value }) => [dataset.name, value]);
  const query = new URLSearchParams(given('query')).toString();
  const headers = { ...Object.fromEntries(given('header')), apiKey, 'content-type': 'application/json' };
  const target = query === '' ? form.dataset.path : `${form.dataset.path}?${query}`;
  try {
    const body = form.querySelector('[data-in=body]').value;
    const response = await fetch(target, { method: 'POST', headers, body });
    const text = await response.text();
    show(`Status ${response.status}, request ${response.headers.get('x-request-id')}`, formatted(text));
  } catch {
    show('The sandbox did not respond. Check the connection and the headers, and send the request again.');
  }
}

for (const form of forms) {
  const [status, answer] = [form.querySelector('[role=status]'), form.querySelector('pre')];
  const show = (text, details = '') => {
    status.textContent = text;
    answer.textContent = details;
    answer.hidden = details === '';
  };
  const body = form.querySelector('[data-in=body]');
  body.value = withOwnNumbers(body.value);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void send(form, show);
  });
  form.hidden = false;
}

// One key serves all endpoints.
for (const key of keys)
  key.addEventListener('input', () => {
    for (const other of keys) other.value = key.value;
  });
