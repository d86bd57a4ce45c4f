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

  keepTyped();

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

  /**
   * Fills in what the user typed if the form got no answer, because the network or the gateway failed. It is kept in this tab, and without
   * the fields that no session keeps either.
   */
  function keepTyped() {
    const place = 'gatehouse form';
    const keptMs = 10 * 60_000;
    const isPrivate = new RegExp(document.body.dataset.private, 'i');
    const fieldsOf = (form) => [...form.elements].filter(({ name }) => name && !isPrivate.test(name));
    // Without the state that the page showed, an old form could undo the change of another user.
    const isTyped = ({ name, type }) => name === 'seen' || !['hidden', 'submit', 'button'].includes(type);
    /** Tells forms with the same address apart. The other hidden fields are new on each page. */
    const nameOf = (form) =>
      JSON.stringify([
        form.getAttribute('action'),
        fieldsOf(form)
          .filter((field) => !isTyped(field) && !['form_id', 'refund_number'].includes(field.name))
          .map(({ name, value }) => [name, value]),
      ]);
    const stateOf = ({ name, type, value, checked }) =>
      type === 'radio' || type === 'checkbox' ? [`${name} ${value}`, checked] : [name, value];

    const fillIn = (form, typed) => {
      const fields = fieldsOf(form).filter(isTyped);
      for (const field of fields) {
        const [name, current] = stateOf(field);
        if (!Object.hasOwn(typed, name)) continue;
        if (typeof current === 'boolean') field.checked = typed[name];
        else field.value = typed[name];
      }
      const note = document.createElement('p');
      note.className = 'alert alert-warn';
      note.setAttribute('role', 'status');
      note.textContent = document.body.dataset.typed;
      form.prepend(note);
      for (let fold = form.closest('details'); fold; fold = fold.parentElement.closest('details'))
        fold.open = true;
      fields.find(({ type }) => type !== 'hidden')?.focus();
    };

    let kept;
    try {
      kept = JSON.parse(window.sessionStorage.getItem(place));
    } catch {
      // A browser without storage keeps nothing.
      return;
    }
    const store = (form) => window.sessionStorage.setItem(place, JSON.stringify(form));
    window.sessionStorage.removeItem(place);
    const [navigation] = window.performance.getEntriesByType('navigation');
    const isUnanswered = document.querySelector('[data-unanswered]') !== null;
    if (kept && Date.now() - kept.atMs < keptMs) {
      const form = [...document.forms].find((each) => nameOf(each) === kept.name);
      if (isUnanswered) store({ ...kept, isUnanswered });
      else if (kept.isUnanswered || navigation?.type === 'back_forward') {
        if (form) fillIn(form, kept.typed);
        // The user looks at another page first.
        else store(kept);
      }
    }
    document.addEventListener('submit', ({ target: form, defaultPrevented }) => {
      if (defaultPrevented || form.method !== 'post') return;
      window.sessionStorage.removeItem(place);
      const fields = fieldsOf(form).filter(isTyped);
      if (!fields.some(({ type }) => type !== 'hidden')) return;
      store({
        name: nameOf(form),
        typed: Object.fromEntries(fields.map(stateOf)),
        atMs: Date.now(),
        isUnanswered: false,
      });
    });
  }
})();
