// What pages do better with a script. Each works without it.
(() => {
  /** The server answers sooner, unless the network fails. */
  const answerMs = 15_000;

  // A page that answers a form gets its own address. Without it, a browser cannot show such a page again with the back button. On a reload
  // it would ask whether to send the form again. A form that is kept until its sender has signed in is only in the page.
  const { answers } = document.body.dataset;
  if (answers && !document.querySelector('[name=carried]')) window.history.replaceState(null, '', answers);

  // One open menu at a time; Escape and a click elsewhere close it.
  const menus = [...document.querySelectorAll('details.menu')];
  const closeOthers = (kept) => {
    for (const menu of menus) if (menu !== kept) menu.open = false;
  };
  document.addEventListener('click', (event) => closeOthers(event.target.closest('details.menu')));
  document.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape') return;
    const open = menus.find((menu) => menu.open);
    if (!open) return;
    open.open = false;
    open.querySelector('summary').focus();
  });

  // After a mistake, the user is at the field, which can be below the screen. Pages whose alert comes first have the focus there.
  if (!document.querySelector('[autofocus]'))
    document
      .querySelector(
        ':is(input, select, textarea)[aria-invalid=true], fieldset[aria-describedby*=error] input',
      )
      ?.focus();

  // <button data-copy="#id" hidden>: copies the text of an element.
  for (const button of document.querySelectorAll('[data-copy]')) {
    const source = document.querySelector(button.dataset.copy);
    if (!source || !navigator.clipboard) continue;
    button.hidden = false;
    const label = button.textContent;
    button.addEventListener('click', async () => {
      await navigator.clipboard.writeText(source.textContent);
      button.textContent = document.body.dataset.copied;
      setTimeout(() => (button.textContent = label), 2000);
    });
  }

  // A second press of the button of a form does nothing while the first one waits for its answer. The server sees to it that a later one
  // creates nothing twice.
  document.addEventListener('submit', (event) => {
    const form = event.target;
    if (form.dataset.sent) {
      event.preventDefault();
      return;
    }
    if (form.method !== 'post') return;
    form.dataset.sent = 'yes';
    // A browser does not report that the user has stopped a page that does not load.
    setTimeout(() => delete form.dataset.sent, answerMs);
  });
  window.addEventListener('pageshow', () => {
    for (const form of document.querySelectorAll('[data-sent]')) delete form.dataset.sent;
  });
})();
