// Draws what a table says: <div data-chart-of="id of the table" hidden>. The table stays, for readers who prefer it.
(() => {
  const dark = window.matchMedia('(prefers-color-scheme: dark)');
  const colours = () => {
    const style = window.getComputedStyle(document.body);
    const of = (name) => style.getPropertyValue(name).trim();
    return {
      text: of('--quiet'),
      line: of('--line'),
      series: [of('--field'), of('--brand'), of('--bad'), of('--warn')],
    };
  };
  for (const place of document.querySelectorAll('[data-chart-of]')) {
    const table = document.getElementById(place.dataset.chartOf);
    if (!table || typeof uPlot === 'undefined') continue;
    const names = [...table.tHead.rows[0].cells].map((cell) => cell.textContent);
    const rows = [...table.tBodies[0].rows];
    const labels = rows.map((row) => row.cells[0].textContent);
    const columns = [...rows[0].cells].flatMap((cell, index) =>
      cell.dataset.value === undefined ? [] : [index],
    );
    const data = [
      rows.map((_, index) => index),
      ...columns.map((column) =>
        rows.map((row) => {
          // What has not come yet is not drawn.
          const { value } = row.cells[column].dataset;
          return value === '' ? null : Number(value);
        }),
      ),
    ];
    const font = window.getComputedStyle(document.body).fontFamily;
    place.hidden = false;
    const draw = () => {
      const { text, line, series } = colours();
      const axis = {
        stroke: text,
        grid: { stroke: line, width: 1 },
        ticks: { stroke: line },
        font: `12px ${font}`,
      };
      place.toggleAttribute('data-dark', dark.matches);
      return new uPlot(
        {
          width: place.clientWidth,
          height: 220,
          // The last label is centred below the last step, so half of it is beyond.
          padding: [null, 24, null, null],
          cursor: { drag: { x: false, y: false } },
          scales: {
            x: { time: false, range: (_, min, max) => [min - 0.5, max + 0.5] },
            y: { range: (_, __, max) => [0, Math.max(max, 4) * 1.05] },
          },
          axes: [
            {
              ...axis,
              grid: { show: false },
              values: (_, places) => places.map((at) => labels[at] ?? ''),
              incrs: [1, 2, 3, 4, 6, 12],
            },
            {
              ...axis,
              incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6],
              // As wide as the longest label and its tick.
              size: (_, values) => 24 + 7 * Math.max(4, ...(values ?? []).map((value) => value.length)),
            },
          ],
          series: [
            { label: names[0], value: (_, at) => labels[at] ?? '' },
            ...columns.map((column, index) => ({
              label: names[column],
              value: (_, __, ___, at) => rows[at]?.cells[column].textContent ?? '',
              stroke: series[index],
              width: 2,
              ...(index === 0
                ? { fill: `${series[index]}33`, paths: uPlot.paths.bars({ size: [0.7, 40] }) }
                : {}),
              points: { show: rows.length < 40 && index > 0, size: 5 },
            })),
          ],
        },
        data,
        place,
      );
    };
    let chart = draw();
    const fold = table.closest('details');
    if (fold) fold.open = false;
    new window.ResizeObserver(() => chart.setSize({ width: place.clientWidth, height: 220 })).observe(place);
    // A canvas keeps the colours in which it was drawn.
    dark.addEventListener('change', () => {
      chart.destroy();
      chart = draw();
    });
  }
})();
