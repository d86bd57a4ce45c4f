// Keeps the lists up to date. Without it the page still works: it reloads itself, and its buttons are forms.
const live = document.getElementById('live');
const pauseMs = 1000;

async function refresh() {
  try {
    const response = await fetch('/live');
    const html = await response.text();
    if (response.ok && html !== refresh.last) {
      const focused = document.activeElement?.id;
      live.innerHTML = html;
      if (focused) document.getElementById(focused)?.focus();
      refresh.last = html;
    }
  } catch {
    // The simulator is not there at the moment; the next round looks again.
  }
  setTimeout(refresh, pauseMs);
}

void refresh();
