// A payment link follows its payment: the page is loaded again when there is something new. Prints, where asked to.
(() => {
  /** A connection that was lost can stay silent. A request that waits for longer is sent again. */
  const answerMs = 15_000;
  for (const button of document.querySelectorAll('[data-print]')) {
    button.hidden = false;
    button.addEventListener('click', () => window.print());
  }
  const place = document.querySelector('[data-live]');
  if (!place) return;
  place.querySelector('[data-live-note]').hidden = false;
  place.querySelector('[data-live-off]').hidden = true;
  let known;
  const look = async () => {
    if (document.visibilityState === 'visible') {
      // AbortSignal.timeout is missing in older browsers.
      const aborter = new AbortController();
      const deadline = setTimeout(() => aborter.abort(), answerMs);
      try {
        const answer = await fetch(place.dataset.live, {
          headers: { accept: 'application/json' },
          redirect: 'error',
          signal: aborter.signal,
        });
        if (answer.ok) {
          const { state, isOver } = await answer.json();
          if (isOver || (known !== undefined && known !== state)) return location.reload();
          known = state;
        }
      } catch {
        // The network failed, or the user is signed out. The page asks again, and every other page shows the reason.
      }
      clearTimeout(deadline);
    }
    setTimeout(look, 3000);
  };
  look();
})();
