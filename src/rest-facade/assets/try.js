/* global document */
// Sends one request to the sandbox and shows its answer. The key stays in its field: it is neither stored nor put in a URL.
const form = document.querySelector('form');
const [endpoint, key, body] = ['endpoint', 'key', 'body'].map((id) => document.getElementById(id));
const [status, answer] = ['status', 'answer'].map((id) => document.getElementById(id));

const show = (text, details = '') => {
  status.textContent = text;
  answer.textContent = details;
};

/** Each example gets an order_number of its own, and the later endpoints keep it. */
const number = `TRY-${Date.now().toString(36).toUpperCase()}`;
const fill = () => {
  const example = JSON.parse(endpoint.selectedOptions[0].dataset.example);
  if ('order_number' in example) example.order_number = number;
  if ('refund_number' in example) example.refund_number = `${number}-R`;
  body.value = JSON.stringify(example, null, 2);
};

const formatted = (text) => {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
};

endpoint.addEventListener('change', fill);
form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const apiKey = key.value.trim();
  if (apiKey.startsWith('svc_live_')) {
    show('Nothing was sent. This is a live key: never enter it in a browser. Use a test key.');
    return;
  }
  if (!/^[!-~]+$/.test(apiKey)) {
    show('Nothing was sent. Enter your test key, which starts with svc_test_.');
    return;
  }
  show('Waiting for the answer…');
  try {
    const headers = { apiKey, 'content-type': 'application/json' };
    const response = await fetch(endpoint.value, { method: 'POST', headers, body: body.value });
    const text = await response.text();
    show(`Status ${response.status}, request ${response.headers.get('x-request-id')}`, formatted(text));
  } catch {
    show('The sandbox did not answer. Check the connection and send the request again.');
  }
});
fill();
form.hidden = false;
