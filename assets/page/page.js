// The report's page: draws its charts, sorts and filters its tables, gives its data as files.
'use strict';

(() => {
  const root = document.documentElement;
  root.classList.add('scripted');

  // The JSON in a script element, which is base64 of gzip.
  async function unpack(id) {
    const text = document.getElementById(id).textContent;
    const bytes = Uint8Array.from(atob(text), sign => sign.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
    return new Response(stream).json();
  }

  function dark() {
    if (root.dataset.theme) return root.dataset.theme === 'dark';
    return matchMedia('(prefers-color-scheme: dark)').matches;
  }

  const state = {context: null, charts: {}, ready: null};
  window.trimbench = state;

  function plot(chart) {
    return document.querySelector(`#chart-${CSS.escape(chart.id)} .plot`);
  }

  function draw(chart) {
    const place = plot(chart);
    if (!place) return;
    const drawing =
      state.charts[chart.id] ||
      echarts.init(place, null, {
        renderer: 'canvas',
        devicePixelRatio: Math.min(window.devicePixelRatio, 2),
      });
    state.charts[chart.id] = drawing;
    const theme = matchMedia('print').matches ? 'light' : dark() ? 'dark' : 'light';
    drawing.setOption(trimbenchChart.option(chart, {theme, width: place.clientWidth}), true);
    // The element says the same in our words.
    place.setAttribute('aria-label', `${chart.title}. ${chart.description}`);
  }

  function size(chart) {
    const place = plot(chart);
    if (place && chart.horizontal) place.style.height = `${trimbenchChart.rowsHeight(chart)}px`;
  }

  function redraw() {
    for (const chart of state.context?.charts ?? []) if (state.charts[chart.id]) draw(chart);
  }

  function inView(chart) {
    const box = plot(chart)?.getBoundingClientRect();
    return box !== undefined && box.top < innerHeight * 1.5 && box.bottom > -innerHeight * 0.5;
  }

  // First what the reader sees, then the rest one at a time. Times are since the page was opened.
  async function start() {
    try {
      state.context = await unpack('context');
      state.context.charts.forEach(size);
      state.context.charts.filter(inView).forEach(draw);
      root.dataset.drawnMs = String(Math.round(performance.now()));
      for (const chart of state.context.charts) {
        if (state.charts[chart.id]) continue;
        draw(chart);
        await new Promise(done => setTimeout(done));
      }
      root.dataset.allDrawnMs = String(Math.round(performance.now()));
    } catch (error) {
      const message = document.createElement('p');
      message.setAttribute('role', 'alert');
      message.textContent = `The charts could not be drawn (${error}). The tables below hold all figures.`;
      document.querySelector('header').append(message);
      throw error;
    }
  }

  // A reader who is faster than that does not wait.
  addEventListener(
    'scroll',
    () => {
      for (const chart of state.context?.charts ?? [])
        if (!state.charts[chart.id] && inView(chart)) draw(chart);
    },
    {passive: true},
  );

  let width = root.clientWidth;
  let waiting = 0;
  addEventListener('resize', () => {
    if (root.clientWidth === width) return;
    width = root.clientWidth;
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(() => {
      Object.values(state.charts).forEach(drawing => drawing.resize());
      redraw();
    });
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
  addEventListener('beforeprint', redraw);
  addEventListener('afterprint', redraw);
  document.getElementById('theme').addEventListener('click', () => {
    root.dataset.theme = dark() ? 'light' : 'dark';
    redraw();
  });

  // What a cell is sorted by and what a file gets: all digits where there is a number, in the unit
  // of the record.
  function content(cell) {
    return cell.dataset.unit ?? cell.dataset.value ?? cell.textContent.trim();
  }

  function sort(table, column, header) {
    const descending = header.getAttribute('aria-sort') === 'ascending';
    table.querySelectorAll('th').forEach(other => other.removeAttribute('aria-sort'));
    header.setAttribute('aria-sort', descending ? 'descending' : 'ascending');
    const rows = [...table.tBodies[0].rows];
    const numeric = rows.some(row => row.cells[column]?.dataset.value !== undefined);
    const key = row => {
      const cell = row.cells[column];
      if (!cell) return numeric ? Number.NaN : '';
      return numeric ? Number(cell.dataset.value ?? Number.NaN) : content(cell);
    };
    const sign = descending ? -1 : 1;
    rows.sort((a, b) => {
      const [x, y] = [key(a), key(b)];
      if (!numeric) return sign * x.localeCompare(y, 'en', {numeric: true});
      // What has no number comes last in either order.
      if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y);
      return sign * (x - y);
    });
    table.tBodies[0].append(...rows);
  }

  document.querySelectorAll('table.data').forEach(table => {
    [...table.tHead.rows[0].cells].forEach((header, column) => {
      header.querySelector('button')?.addEventListener('click', () => sort(table, column, header));
    });
  });

  document.querySelectorAll('input[data-table]').forEach(input => {
    const table = document.getElementById(input.dataset.table);
    input.addEventListener('input', () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const row of table.tBodies[0].rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every(word => text.includes(word));
      }
    });
  });

  function save(name, type, text) {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([text], {type}));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  // Characters that do something to the text around them: as `trimbench_core::text::is_hidden`.
  const HIDDEN =
    /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;
  const shown = text => text.replace(HIDDEN, sign => `\\u{${sign.charCodeAt(0).toString(16)}}`);
  // What a spreadsheet takes for a formula, unless it is a number.
  const isFormula = text => /^[=+\-@\uff1d\uff0b\uff0d\uff20]/.test(text) && isNaN(Number(text));

  // RFC 4180; a text that would be a formula gets an apostrophe, as in the files of `--csv`.
  function csv(rows) {
    const field = value => {
      const given = value === null || value === undefined ? '' : shown(String(value));
      const text = isFormula(given) ? `'${given}` : given;
      return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
    };
    return rows.map(row => row.map(field).join(',') + '\r\n').join('');
  }

  function chartRows(chart) {
    const name = axis => (axis ? axis.title + (axis.unit ? ` (${axis.unit})` : '') : '');
    const place = (axis, value) => (axis.scale === 'category' ? axis.categories[value] : value);
    const rows = [['curve', name(chart.x), name(chart.y), 'low', 'high', name(chart.z), 'label']];
    for (const series of chart.series) {
      series.x.forEach((x, index) =>
        rows.push([
          series.name,
          place(chart.x, x),
          series.y[index] === null ? null : place(chart.y, series.y[index]),
          series.low?.[index],
          series.high?.[index],
          series.z?.[index],
          series.labels?.[index],
        ]),
      );
    }
    return rows;
  }

  function tableRows(table) {
    return [...table.rows].filter(row => !row.hidden).map(row => [...row.cells].map(content));
  }

  function figureRows(record) {
    const rows = [
      [
        'session',
        'method',
        'target',
        'preset',
        'clock',
        'figure',
        'title',
        'value',
        'unit',
        'shown',
        'low',
        'high',
        'level',
        'n',
        'verdict',
        'caveats',
      ],
    ];
    record.sessions.forEach((session, index) =>
      session.figures.forEach(figure =>
        rows.push([
          index,
          session.plan.method,
          session.plan.target,
          session.plan.preset,
          session.target.clock,
          figure.id,
          figure.title,
          figure.value,
          figure.unit,
          trimbenchNumber.quantity(
            figure.value,
            figure.unit,
            figure.interval?.low,
            figure.interval?.high,
          ),
          figure.interval?.low,
          figure.interval?.high,
          figure.interval?.level,
          figure.n,
          figure.verdict,
          [...new Set([...figure.caveats, ...session.caveats])].join(';'),
        ]),
      ),
    );
    return rows;
  }

  function seriesRows(record) {
    const rows = [['session', 'step', 'series', 'x', 'x_unit', 'y', 'y_unit']];
    // A regular axis is written as where it begins, its step and how many there are.
    const places = x =>
      Array.isArray(x)
        ? x
        : Array.from({length: x.count}, (_, index) => Number((x.from + index * x.step).toFixed(9)));
    record.sessions.forEach((session, index) =>
      session.steps.forEach(step => {
        for (const [name, series] of Object.entries(step.series)) {
          places(series.x).forEach((x, place) =>
            rows.push([index, step.id, name, x, series.x_unit, series.y[place], series.y_unit]),
          );
        }
      }),
    );
    return rows;
  }

  document.querySelectorAll('[data-download]').forEach(button =>
    button.addEventListener('click', async () => {
      const {download: kind, chart: id, table, record} = button.dataset;
      if (kind === 'context') {
        save('charts.json', 'application/json', JSON.stringify(state.context));
      } else if (id !== undefined) {
        const chart = state.context.charts.find(one => one.id === id);
        if (kind === 'svg')
          save(`${id}.svg`, 'image/svg+xml', trimbenchSvg.of(chart, {width: 960, height: 400}));
        else save(`${id}.csv`, 'text/csv', csv(chartRows(chart)));
      } else if (table !== undefined) {
        save(`${table}.csv`, 'text/csv', csv(tableRows(document.getElementById(table))));
      } else {
        const content = await unpack(`record-${record}`);
        if (kind === 'json')
          save(`run-${record}.json`, 'application/json', JSON.stringify(content, null, 2));
        else if (kind === 'csv')
          save(`figures-${record}.csv`, 'text/csv', csv(figureRows(content)));
        else save(`series-${record}.csv`, 'text/csv', csv(seriesRows(content)));
      }
    }),
  );

  document.querySelectorAll('[data-reset]').forEach(button =>
    button.addEventListener('click', () => {
      const chart = state.context.charts.find(one => one.id === button.dataset.reset);
      if (chart) draw(chart);
    }),
  );

  // A link into a closed part opens it.
  function open() {
    const target = location.hash
      ? document.getElementById(decodeURIComponent(location.hash.slice(1)))
      : null;
    for (let part = target; part; part = part.parentElement)
      if (part.tagName === 'DETAILS') part.open = true;
    if (target) target.scrollIntoView();
  }
  addEventListener('hashchange', open);

  state.ready = start().then(open);
})();
