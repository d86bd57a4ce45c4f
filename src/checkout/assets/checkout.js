// What makes the pages pleasant; all of them work without it.

/** How long until the payment is looked at again: often at first, when most people confirm. */
const followMs = { soon: 1500, later: 4000, soonForMs: 60_000 };
/** A browser often gets no error when its phone loses the network. A request that waits for longer is asked again. */
const answerMs = 15_000;
/** How long a press waits for an answer of the gateway if the browser says that it is offline. */
const reachMs = 3_000;
/** From this long on, the server's text, such as “29 days, 23 hours”, says more than a number of hours. */
const daySeconds = 86_400;

document.documentElement.classList.add('js');
for (const start of [
  ownAddress,
  followPayment,
  openWallet,
  countDown,
  returnToShop,
  printReceipt,
  submitOnce,
])
  start();

/**
 * Gives a page that answers a form the address of the checkout. Without it, a browser cannot show such a page again with the back button.
 * On a reload it would ask whether to send the form again.
 */
function ownAddress() {
  const { answer, self } = document.body.dataset;
  if (answer !== undefined && self !== undefined) window.history.replaceState(null, '', self);
}

/** Shows the checkout as it is now, at its address without a query. */
function showAgain() {
  location.replace(document.body.dataset.self ?? location.pathname);
}

/** Looks at the payment until the page should show something else, and then shows that. */
function followPayment() {
  const page = document.querySelector('[data-follow]');
  if (page === null) return;
  const startedMs = performance.now();
  const { follow, version } = page.dataset;
  const offline = page.querySelector('[data-offline]');
  let timer;
  const look = async () => {
    clearTimeout(timer);
    const aborter = new AbortController();
    const deadline = setTimeout(() => aborter.abort(), answerMs);
    try {
      const response = await fetch(follow, {
        cache: 'no-store',
        headers: { accept: 'application/json' },
        signal: aborter.signal,
      });
      const status = response.ok ? await response.json() : undefined;
      if (response.status === 404 || (status !== undefined && status.version !== version)) {
        showAgain();
        return;
      }
      if (status?.cancellable === false) endCancelling(page);
      if (offline !== null) offline.hidden = response.ok;
    } catch {
      if (offline !== null) offline.hidden = false;
    }
    clearTimeout(deadline);
    const isSoon = performance.now() - startedMs < followMs.soonForMs;
    timer = setTimeout(look, isSoon ? followMs.soon : followMs.later);
  };
  // A phone that was used to confirm comes back to this page: look at once.
  document.addEventListener('visibilitychange', () => {
    if (document.visibilityState === 'visible') void look();
  });
  window.addEventListener('online', () => void look());
  timer = setTimeout(look, followMs.soon);
}

/** Goes to the wallet's page once for each attempt. A customer who comes back stays on this page, which has the link. */
function openWallet() {
  const link = document.querySelector('[data-open-once]');
  if (link === null) return;
  const opened = `opened ${link.dataset.openOnce}`;
  try {
    if (window.sessionStorage.getItem(opened) !== null) return;
    window.sessionStorage.setItem(opened, '1');
  } catch {
    // Without storage, a customer who comes back would be sent to the wallet again. So the customer follows the link.
    return;
  }
  location.assign(link.getAttribute('href'));
}

/** The wallet has been asked: says what the customer can do now, in place of the button that would come too late. */
function endCancelling(page) {
  for (const form of page.querySelectorAll('[data-cancellable]')) form.hidden = true;
  for (const text of page.querySelectorAll('[data-not-cancellable]')) text.hidden = false;
}

/**
 * Calls `each` with the seconds that are left, every second, and with 0 in the end. Sleeping phones lose no time. Gives
 * a function that stops it.
 */
function everySecond(seconds, each) {
  const endMs = performance.now() + seconds * 1000;
  let timer;
  const tick = () => {
    const left = Math.max(0, Math.ceil((endMs - performance.now()) / 1000));
    if (left > 0) timer = setTimeout(tick, 1000);
    each(left);
  };
  tick();
  return () => clearTimeout(timer);
}

/** Shows the time left to the second, on the last day, and looks again when there is none. */
function countDown() {
  const timer = document.querySelector('[data-countdown]');
  if (timer === null) return;
  everySecond(Number(timer.dataset.countdown), (left) => {
    if (left === 0) return showAgain();
    if (left >= daySeconds) return;
    const [hours, minutes, seconds] = [left / 3600, (left / 60) % 60, left % 60].map(Math.floor);
    const parts = hours > 0 ? [hours, minutes, seconds] : [minutes, seconds];
    timer.textContent = parts
      .map((part, index) => (index === 0 ? part : String(part).padStart(2, '0')))
      .join(':');
  });
}

/** Goes back to the shop a moment after the end, unless the customer says to stay. */
function returnToShop() {
  const link = document.querySelector('[data-return]');
  const shown = document.querySelector('[data-return-seconds]');
  if (link === null || shown === null) return;
  const stop = everySecond(Number(shown.textContent), (left) => {
    shown.textContent = String(left);
    if (left === 0) location.assign(link.getAttribute('href'));
  });
  const stay = () => {
    stop();
    document.querySelector('[data-returning]').hidden = true;
  };
  document.querySelector('[data-stay]').addEventListener('click', (event) => {
    event.preventDefault();
    stay();
    link.focus();
  });
  // Printing takes longer than the countdown, and coming back from the shop is no reason to leave for it again.
  window.addEventListener('beforeprint', stay);
  window.addEventListener('pageshow', ({ persisted }) => persisted && stay());
}

/** Only a script can print. */
function printReceipt() {
  document.querySelector('[data-print]')?.addEventListener('click', () => window.print());
}

/** Whether the gateway answers. Browsers also say that they are offline if only their own machine answers, as with `npm start`. */
async function isReached() {
  const aborter = new AbortController();
  const deadline = setTimeout(() => aborter.abort(), reachMs);
  try {
    await fetch(location.pathname, { method: 'HEAD', cache: 'no-store', signal: aborter.signal });
    return true;
  } catch {
    return false;
  } finally {
    clearTimeout(deadline);
  }
}

/**
 * A second press on the same button does nothing, and the customer sees that the first one counts. Without a network, the payment form
 * stays and says so. The browser would show a page of its own, from which customers do not get back.
 */
function submitOnce() {
  const forms = [...document.querySelectorAll('form[data-submitting]')];
  for (const form of forms) {
    const button = form.querySelector('button');
    const text = button.textContent;
    const unsent = form.querySelector('[data-unsent]');
    let mayBeSent = unsent === null;
    const release = () => {
      button.removeAttribute('aria-disabled');
      button.textContent = text;
    };
    form.addEventListener('submit', (event) => {
      if (button.getAttribute('aria-disabled') === 'true') return event.preventDefault();
      if (!mayBeSent && !navigator.onLine) {
        event.preventDefault();
        void isReached().then((reached) => {
          mayBeSent = reached;
          unsent.hidden = reached;
          if (reached) button.click();
        });
        return;
      }
      if (unsent !== null) {
        unsent.hidden = true;
        mayBeSent = false;
      }
      button.setAttribute('aria-disabled', 'true');
      button.textContent = form.dataset.submitting;
      // A browser does not report that the customer has stopped a page that does not load. Core merges the payments of a second press.
      setTimeout(release, answerMs);
    });
    // Back from the next page, the browser may show this one as it was left.
    window.addEventListener('pageshow', release);
  }
}
