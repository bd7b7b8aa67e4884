// A chart as the text of an SVG file: what ECharts draws, in about a third of its bytes.
//
// ECharts writes every attribute of every shape, for a page that moves. A file stands still: what
// cannot be seen is left out, places are whole tenths of a pixel, neighbours that look alike are
// one path. Like `chart.js` this file knows neither a document nor a window.
'use strict';

const trimbenchSvg = (() => {
  const {FAMILY, escaped} = trimbenchChart;
  // What follows each command of a path: pairs of coordinates, or what an arc has.
  const ARGUMENTS = {M: 2, L: 2, C: 6, Q: 4, A: 7, Z: 0};
  // Attributes for what a still picture does not do, and values that are those of SVG itself.
  const DROPPED = /^(pointer-events|class|cursor|ecmeta_|xmlns:|xml:|version|baseProfile)/;
  const DEFAULTS = {
    'stroke-linecap': 'butt',
    'stroke-miterlimit': '10',
    'fill-opacity': '1',
    'stroke-opacity': '1',
    'stroke-width': '1',
  };
  const NAMING = ['id', 'clip-path', 'fill', 'stroke'];
  const FONT_SIZE = 12;
  const FONT = `font-size:${FONT_SIZE}px;font-family:${FAMILY};`;
  // From the middle of a line of text to the line that it stands on, of its size.
  const MIDDLE = 0.35;
  const IDENTITY = {scale: 1, shift: [0, 0]};
  // A ramp of colours needs no more steps than this.
  const STOPS_MAX = 12;

  // A whole number of tenths as SVG writes it.
  const tenths = value => String(value / 10).replace(/^(-?)0\./, '$1.');
  const rounded = value => Math.round(value * 10);

  // Numbers one after another: a sign parts two of them as well as a blank.
  const joined = numbers => numbers.map(tenths).join(' ').replace(/ -/g, '-');

  // `scale` and `shift` where a transform is no more than these.
  function placed(transform) {
    const numbers = (transform.match(/-?[\d.]+(?:e-?\d+)?/g) ?? []).map(Number);
    if (transform.startsWith('translate')) return {scale: 1, shift: [numbers[0], numbers[1] ?? 0]};
    const [a, b, c, d, x, y] = numbers;
    if (!transform.startsWith('matrix') || b !== 0 || c !== 0 || a !== d) return null;
    return {scale: a, shift: [x, y]};
  }

  // A path in steps from point to point. Each step begins where the last one ended once rounded,
  // so that no error adds up.
  function path(text, {scale, shift} = IDENTITY) {
    const tokens = text.match(/[a-zA-Z]|-?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?/g) ?? [];
    let written = '';
    let command = '';
    let last = '';
    // Where the pen is: exactly, before the transform; and as written, in tenths.
    let pen = [0, 0];
    let start = [0, 0];
    let at = [0, 0];
    let begin = [0, 0];
    for (let place = 0; place < tokens.length;) {
      if (/[a-zA-Z]/.test(tokens[place])) command = tokens[place++];
      const kind = command.toUpperCase();
      const count = ARGUMENTS[kind];
      if (count === undefined) throw new Error(`a path with the command ${command}`);
      const numbers = tokens.slice(place, place + count).map(Number);
      place += count;
      if (kind === 'Z') {
        written += 'z';
        [pen, at, last] = [start, begin, 'z'];
        continue;
      }
      const origin = command === kind ? [0, 0] : pen;
      const steps = [];
      let arc = '';
      if (kind === 'A') {
        const [rx, ry, turned, large, sweep] = numbers;
        arc = `${joined([rounded(rx * scale), rounded(ry * scale)])} ${turned} ${large} ${sweep} `;
      }
      let to = at;
      for (let index = kind === 'A' ? 5 : 0; index < count; index += 2) {
        pen = [origin[0] + numbers[index], origin[1] + numbers[index + 1]];
        to = pen.map((value, axis) => rounded(value * scale + shift[axis]));
        steps.push(to[0] - at[0], to[1] - at[1]);
      }
      const first = written === '';
      const letter = first ? 'M' : kind.toLowerCase();
      const numbersText = arc + joined(first ? to : steps);
      const repeated = letter === last && kind !== 'M';
      written += (repeated ? (numbersText.startsWith('-') ? '' : ' ') : letter) + numbersText;
      last = letter;
      at = to;
      if (kind === 'M') [start, begin] = [pen, to];
    }
    return written;
  }

  // The attributes that say something, and places without a transform where it only moves.
  function attributes(node) {
    const kept = {};
    for (const [name, value] of Object.entries(node.attrs ?? {})) {
      if (value === null || value === undefined || value === false) continue;
      if (!DROPPED.test(name) && DEFAULTS[name] !== String(value)) kept[name] = String(value);
    }
    const simple = kept.transform === undefined ? IDENTITY : placed(kept.transform);
    if (node.tag === 'path' && kept.d !== undefined) {
      kept.d = path(kept.d, simple ?? undefined);
      if (simple && kept.stroke && kept.stroke !== 'none' && simple.scale !== 1)
        kept['stroke-width'] = String(Number(kept['stroke-width'] ?? 1) * simple.scale);
      if (simple) delete kept.transform;
    }
    if (node.tag === 'text') {
      let [x, y] = [Number(kept.x ?? 0), Number(kept.y ?? 0)];
      if (simple) {
        [x, y] = [x + simple.shift[0], y + simple.shift[1]];
        delete kept.transform;
      }
      if (kept['dominant-baseline'] === 'central') {
        // Many programs that read SVG know only the line that text stands on.
        y += MIDDLE * Number(kept.style?.match(/font-size:([\d.]+)px/)?.[1] ?? FONT_SIZE);
        delete kept['dominant-baseline'];
      }
      if (kept.style === FONT) delete kept.style;
      if (kept['text-anchor'] === 'start') delete kept['text-anchor'];
      [kept.x, kept.y] = [x, y].map(value => tenths(rounded(value)));
    }
    return kept;
  }

  const invisible = ({tag, attrs}) =>
    tag === 'style' ||
    (tag === 'path' &&
      (attrs.d === '' ||
        ((attrs.fill === 'none' || attrs['fill-opacity'] === '0') &&
          (!attrs.stroke || attrs.stroke === 'none' || attrs['stroke-width'] === '0'))));

  // Whether shapes that lie one over the other look the same apart and as one.
  const opaque = attrs => !Object.keys(attrs).some(name => name.includes('opacity'));

  // Whether shapes look alike, wherever their paths lead.
  const look = attrs => JSON.stringify({...attrs, d: undefined});
  const same = (one, other) => look(one) === look(other);

  // Neighbours that look alike, as one.
  function merged(nodes) {
    const found = [];
    for (const node of nodes) {
      const before = found[found.length - 1];
      const alike = before?.tag === node.tag && same(before.attrs, node.attrs);
      // A path begins with an `M` of its own, which is as good in the middle of another.
      if (node.tag === 'path' && alike && opaque(node.attrs)) before.attrs.d += node.attrs.d;
      else if (node.tag === 'g' && alike) before.children.push(...node.children);
      else found.push(node);
    }
    return found;
  }

  function compact(node, clips) {
    const attrs = attributes(node);
    // ECharts counts its drawings: the chart's own name is the same wherever it is drawn.
    for (const name of NAMING) attrs[name] &&= attrs[name].replace(/\bzr\d+-/, `${clips.chart}-`);
    let children = (node.children ?? []).map(child => compact(child, clips));
    if (node.tag === 'linearGradient' && children.length > STOPS_MAX) {
      const step = Math.ceil(children.length / STOPS_MAX);
      children = children.filter((_, at) => at % step === 0 || at === children.length - 1);
    }
    if (node.tag === 'clipPath') {
      const shape = JSON.stringify(children.map(child => child.attrs));
      clips.same[attrs.id] = clips.first[shape] ??= attrs.id;
    }
    return {tag: node.tag, attrs, children, text: node.text};
  }

  // Without what cannot be seen, clips that are the same by one name, neighbours as one.
  function tidy(node, clips) {
    const twin = it => it.tag === 'clipPath' && clips.same[it.attrs.id] !== it.attrs.id;
    const clip = node.attrs['clip-path']?.match(/^url\(#(.*)\)$/);
    if (clip) node.attrs['clip-path'] = `url(#${clips.same[clip[1]] ?? clip[1]})`;
    // A clip has no colour: only what is drawn can be invisible.
    const kept = node.children.filter(
      it => !twin(it) && !(node.tag !== 'clipPath' && invisible(it)),
    );
    node.children = merged(kept.map(child => tidy(child, clips)));
    return node;
  }

  function print({tag, attrs, children, text}) {
    const said = Object.entries(attrs).map(([name, value]) => ` ${name}="${escaped(value)}"`);
    const inside = (text ? escaped(text) : '') + children.map(print).join('');
    return inside ? `<${tag}${said.join('')}>${inside}</${tag}>` : `<${tag}${said.join('')}/>`;
  }

  // The chart as the text of an SVG file, dark on light: as wide as this, and as high, or as its
  // rows and legend need.
  function of(chart, {width, height}) {
    const rows = chart.horizontal ? trimbenchChart.rowsHeight(chart) : height;
    const size = {width, height: rows + trimbenchChart.legendHeight(chart, width)};
    const drawing = echarts.init(null, null, {renderer: 'svg', ssr: true, ...size});
    drawing.setOption(trimbenchChart.option(chart, {theme: 'light', width, still: true}));
    const clips = {chart: chart.id, first: {}, same: {}};
    const drawn = drawing.getZr().painter.renderToVNode({
      animation: false,
      emphasis: false,
      willUpdate: false,
      compress: true,
      useViewBox: true,
    });
    drawing.dispose();
    const whole = compact(drawn, clips);
    whole.attrs['font-family'] = FAMILY;
    whole.attrs['font-size'] = String(FONT_SIZE);
    return print(tidy(whole, clips));
  }

  return {of, path};
})();
